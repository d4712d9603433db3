import type { Readable } from "node:stream";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { noFile, openDownload } from "../support/download.ts";
import { objectOf, objectsOf, textOf } from "../support/payload.ts";
import type { InboundMedia } from "../types.ts";
import { apiBase } from "./address.ts";
import { isSnowflake } from "./parse.ts";
import type { Api } from "./rest.ts";

const CDN = new Set(["cdn.discordapp.com", "media.discordapp.net"]);
/** The part of a link that says how long it is good: seconds since 1970 in hexadecimal. */
const EXPIRES = "ex";
const MARGIN_MS = 10_000;

/** True for addresses of Discord's files; with an API elsewhere, also for that one's. Keeps requests off other hosts. */
export function isFileUrl(url: string, apiBaseUrl: string | undefined): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, host, username, password } = new URL(url);
  if (username !== "" || password !== "") return false;
  if (protocol === "https:" && CDN.has(host)) return true;
  const api = new URL(apiBase(apiBaseUrl));
  if (apiBaseUrl === undefined || host !== api.host) return false;
  const plain =
    protocol === "http:" && api.protocol === "http:" && isLoopbackHost(api.hostname.replace(/^\[|\]$/g, ""));
  return protocol === "https:" || plain;
}

function isExpired(url: string, now: number): boolean {
  const hex = new URL(url).searchParams.get(EXPIRES);
  return hex !== null && /^[0-9a-f]{1,9}$/i.test(hex) && Number.parseInt(hex, 16) * 1000 < now + MARGIN_MS;
}

/**
 * Opens a file of a message. Links of Discord end after a day: the message then tells a new one.
 * @throws GatewayError with a user-facing message
 */
export async function openMedia(
  { api, apiBaseUrl, now }: { api: Api; apiBaseUrl: string | undefined; now: number },
  { ref }: InboundMedia,
  signal: AbortSignal,
): Promise<Readable> {
  const open = (url: string) => openDownload({ url, headers: {}, signal, provider: "Discord" });
  const known = textOf(ref.url);
  const usable = known !== undefined && isFileUrl(known, apiBaseUrl) && !isExpired(known, now);
  let problem: unknown;
  if (usable) {
    try {
      return await open(known);
    } catch (error) {
      problem = error;
    }
  }
  const fresh = await freshUrl(api, ref, signal);
  if (fresh === undefined || fresh === known || !isFileUrl(fresh, apiBaseUrl)) {
    throw problem ?? noFile("Discord no longer has it");
  }
  return open(fresh);
}

async function freshUrl(
  api: Api,
  ref: InboundMedia["ref"],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { channel, message, attachment } = ref;
  if (!isSnowflake(channel) || !isSnowflake(message)) return undefined;
  const result = await api.call("GET", `/channels/${channel}/messages/${message}`, { signal });
  if (result.kind !== "done") return undefined;
  const found = objectsOf(objectOf(result.body).attachments).find(({ id }) => id === attachment);
  return textOf(found?.url);
}
