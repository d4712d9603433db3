import { createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import { pipeline, Readable, Transform } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { GatewayError } from "@agent-gateway/contract";
import type { InboundMedia } from "../types.ts";

/** Where files lie; the sender of a message names the host, so no other is asked. */
const HOST = "mmg.whatsapp.net";
/** At the end of each file: the first bytes of its HMAC. */
const MAC_BYTES = 10;
/** The provider's name of a kind of file in the derivation of its keys. */
const KEY_INFO: Readonly<Record<InboundMedia["kind"], string>> = {
  image: "WhatsApp Image Keys",
  video: "WhatsApp Video Keys",
  voice: "WhatsApp Audio Keys",
  audio: "WhatsApp Audio Keys",
  document: "WhatsApp Document Keys",
};

const gone = () => new GatewayError("UPSTREAM_UNAVAILABLE", "it is no longer available at WhatsApp");
const broken = () => new GatewayError("UPSTREAM_UNAVAILABLE", "it arrived damaged");

/**
 * Address of a file. Only the provider's hosts are asked, or the host of a server of one's own.
 * @param own Address of the configured socket, if any.
 */
export function mediaUrl(ref: InboundMedia["ref"], own: string | undefined): URL | undefined {
  const { url, directPath } = ref;
  const given = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  const provider = given?.protocol === "https:" && /(?:^|\.)whatsapp\.net$/.test(given.hostname);
  const configured = given !== undefined && own !== undefined && given.host === new URL(own).host;
  const trusted = provider || configured ? given : undefined;
  if (typeof directPath === "string" && directPath.startsWith("/")) {
    // Put together as text: a path that begins with two slashes would name a host of its own.
    return new URL(`${trusted?.origin ?? `https://${HOST}`}${directPath}`);
  }
  return trusted;
}

/** Deciphers a file and proves it by the code at its end. */
export function decipher(kind: InboundMedia["kind"], mediaKey: Uint8Array): Transform {
  const keys = Buffer.from(hkdfSync("sha256", mediaKey, new Uint8Array(32), KEY_INFO[kind], 112));
  const iv = keys.subarray(0, 16);
  const cipher = createDecipheriv("aes-256-cbc", keys.subarray(16, 48), iv);
  const mac = createHmac("sha256", keys.subarray(48, 80)).update(iv);
  let tail = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const all = Buffer.concat([tail, chunk]);
      const body = all.subarray(0, Math.max(0, all.length - MAC_BYTES));
      tail = all.subarray(body.length);
      mac.update(body);
      done(null, cipher.update(body));
    },
    flush(done) {
      if (!mac.digest().subarray(0, MAC_BYTES).equals(tail)) return done(broken());
      try {
        done(null, cipher.final());
      } catch {
        done(broken());
      }
    },
  });
}

/**
 * Opens a file that came with a message.
 * @throws {GatewayError} `UPSTREAM_UNAVAILABLE`, from the stream too.
 */
export async function fetchMedia(
  media: InboundMedia,
  own: string | undefined,
  signal: AbortSignal,
): Promise<Readable> {
  const url = mediaUrl(media.ref, own);
  const key = typeof media.ref.mediaKey === "string" ? Buffer.from(media.ref.mediaKey, "base64") : undefined;
  if (!url || key?.length !== 32)
    throw new GatewayError("UPSTREAM_UNAVAILABLE", "WhatsApp did not say where it is");
  const response = await fetch(url, {
    signal,
    redirect: "error",
    headers: { origin: "https://web.whatsapp.com" },
  }).catch((cause: unknown) => {
    throw new GatewayError("UPSTREAM_UNAVAILABLE", "WhatsApp's file server cannot be reached", { cause });
  });
  if (!response.ok || !response.body) {
    await response.body?.cancel().catch(() => {});
    throw gone();
  }
  const plain = decipher(media.kind, key);
  pipeline(Readable.fromWeb(response.body as ReadableStream), plain, () => {});
  return plain;
}
