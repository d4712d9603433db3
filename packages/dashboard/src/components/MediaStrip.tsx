import { mediaUrl } from "../api/client.ts";
import type { Message } from "../api/types.ts";
import { Icon } from "./Icon.tsx";

export interface Medium {
  url: string;
  name: string;
  image: boolean;
}

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** Files of a message: what the user attached and what the agent shared. Addresses elsewhere are not loaded. */
export function mediaOf(agentId: string, message: Pick<Message, "attachments" | "mediaFiles">): Medium[] {
  const sent = (message.mediaFiles ?? []).map((path) => ({
    url: mediaUrl(agentId, path),
    name: nameOf(path),
    image: !/\.pdf$/i.test(path),
  }));
  return [...sent, ...sharedMedia(message.attachments ?? [])];
}

export function sharedMedia(attachments: readonly { url: string }[]): Medium[] {
  return attachments.flatMap(({ url }) => {
    const address = URL.parse(url, location.href);
    if (address?.origin !== location.origin) return [];
    return [{ url: address.href, name: nameOf(address.pathname), image: true }];
  });
}

export function MediaStrip({ media }: { media: Medium[] }) {
  if (media.length === 0) return null;
  return (
    <ul class="media">
      {media.map(({ url, name, image }) => (
        <li key={url}>
          <a href={url} target="_blank" rel="noopener">
            {image ? (
              <img src={url} alt={`Attachment ${name}`} loading="lazy" />
            ) : (
              <span class="file-chip">
                <Icon name="file" /> {name}
              </span>
            )}
          </a>
        </li>
      ))}
    </ul>
  );
}
