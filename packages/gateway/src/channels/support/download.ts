import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { GatewayError } from "@agent-gateway/contract";
import { onNewConnection } from "./exchange.ts";
import { MAX_INBOUND_BYTES } from "./inbound-limit.ts";

/** Why a file is unavailable, as a user-facing message. */
export const noFile = (sentence: string) => new GatewayError("UPSTREAM_UNAVAILABLE", sentence);

export interface Download {
  url: string;
  headers: Record<string, string>;
  signal: AbortSignal;
  /** Name of the provider, for messages. */
  provider: string;
  /** Why a response is not the file, whatever its status. */
  refuse?(response: Response): string | undefined;
}

/**
 * Opens a file at a provider.
 * @throws GatewayError with a user-facing message; `PAYLOAD_TOO_LARGE` when it is announced too large
 */
export async function openDownload({ url, headers, signal, provider, refuse }: Download): Promise<Readable> {
  const response = await fetch(url, {
    headers: onNewConnection(headers),
    signal,
    redirect: "manual",
  }).catch(() => {
    throw noFile(`${provider} could not be reached`);
  });
  const reason = refuse?.(response) ?? (response.status === 200 ? undefined : refusal(response, provider));
  if (reason !== undefined || !response.body) {
    await response.body?.cancel().catch(() => {});
    throw noFile(reason ?? `${provider} sent nothing`);
  }
  if (Number(response.headers.get("content-length")) > MAX_INBOUND_BYTES) {
    await response.body.cancel().catch(() => {});
    throw new GatewayError("PAYLOAD_TOO_LARGE");
  }
  return Readable.fromWeb(response.body as ReadableStream);
}

function refusal({ status }: Response, provider: string): string {
  if (status === 401 || status === 403) return `${provider} does not let the bot fetch it (${status})`;
  if (status === 404 || status === 410) return `${provider} no longer has it`;
  return `${provider} answered ${status}`;
}
