import { mediaUrl } from "../api/client.ts";
import type { Message, SharedFile } from "../api/types.ts";
import { fileSize } from "./format.ts";
import { Icon } from "./Icon.tsx";

export interface Medium {
  url: string;
  name: string;
  /** Bytes, where they are known. */
  size?: number | undefined;
  show: "image" | "document" | "download";
}

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** Files of a message, attached by the user or shared by the agent. Files on other hosts are not loaded. */
export function mediaOf(agentId: string, message: Pick<Message, "attachments" | "mediaFiles">): Medium[] {
  const sent = (message.mediaFiles ?? []).map((path) => ({
    url: mediaUrl(agentId, path),
    name: nameOf(path),
    show: /\.pdf$/i.test(path) ? ("document" as const) : ("image" as const),
  }));
  return [...sent, ...sharedMedia(message.attachments ?? [])];
}

export function sharedMedia(attachments: readonly SharedFile[]): Medium[] {
  return attachments.flatMap(({ type, url, name, size }) => {
    const address = URL.parse(url, location.href);
    if (address?.origin !== location.origin) return [];
    const show = type === "image" ? "image" : "download";
    return [{ url: address.href, name: name ?? nameOf(address.pathname), size, show }];
  });
}

export function MediaStrip({ media }: { media: Medium[] }) {
  if (media.length === 0) return null;
  return (
    <ul class="media">
      {media.map((medium) => (
        <li key={medium.url}>
          <MediumLink medium={medium} />
        </li>
      ))}
    </ul>
  );
}

function MediumLink({ medium: { url, name, size, show } }: { medium: Medium }) {
  if (show === "image") {
    return (
      <a href={url} target="_blank" rel="noopener">
        <img src={url} alt={`Attachment ${name}`} loading="lazy" />
      </a>
    );
  }
  const goes = show === "download" ? { download: name } : { target: "_blank", rel: "noopener" };
  return (
    <a href={url} class="file-chip" {...goes}>
      <Icon name={show === "download" ? "download" : "file"} />
      <span class="file-name">{name}</span>
      {size !== undefined && <span class="hint">{fileSize(size)}</span>}
    </a>
  );
}
