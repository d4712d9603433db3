import type { Readable } from "node:stream";
import { noFile, openDownload } from "../support/download.ts";
import type { InboundMedia } from "../types.ts";
import { clientFor, type Settings } from "./client.ts";

/** Host of `url_private`. */
const FILES_HOST = "files.slack.com";

/** The bot's token is sent only to Slack's file host and to the host of the configured server. */
function mayFetch(address: string, apiBaseUrl: string | undefined): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, host } = new URL(address);
  if (protocol === "https:" && host === FILES_HOST) return true;
  return apiBaseUrl !== undefined && host === new URL(apiBaseUrl).host && /^https?:$/.test(protocol);
}

/** Opens a file of a message. Rejects with a user-facing message. */
export async function openFile(
  settings: Settings,
  { ref, mime }: InboundMedia,
  signal: AbortSignal,
): Promise<Readable> {
  const url = typeof ref.url === "string" ? ref.url : await lookUp(settings, String(ref.id), signal);
  if (url === undefined || !mayFetch(url, settings.apiBaseUrl)) {
    throw noFile("Slack stores it at an address that the gateway does not trust");
  }
  return openDownload({
    url,
    headers: { authorization: `Bearer ${settings.botToken ?? ""}` },
    signal,
    provider: "Slack",
    // Without the scope Slack shows its sign-in page instead, or leads to it.
    refuse: ({ status, headers }) => {
      const page = /^text\/html/i.test(headers.get("content-type") ?? "") && !/html/i.test(mime ?? "");
      return (status >= 300 && status < 400) || (status === 200 && page)
        ? "the Slack app lacks the scope files:read"
        : undefined;
    },
  });
}

/** Files of shared channels come without their address. */
async function lookUp(settings: Settings, id: string, signal: AbortSignal): Promise<string | undefined> {
  const { file } = await clientFor(settings, signal)
    .files.info({ file: id })
    .catch(() => {
      throw noFile("Slack did not say where it is");
    });
  return file?.url_private_download ?? file?.url_private;
}
