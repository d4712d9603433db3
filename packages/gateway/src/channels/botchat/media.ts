import type { Readable } from "node:stream";
import { GatewayError } from "@agent-gateway/contract";
import { type Api, GrammyError } from "grammy/web";
import { noFile, openDownload } from "../support/download.ts";
import type { InboundMedia, Json } from "../types.ts";
import { type BotApi, type CallSignal, PROVIDER } from "./api.ts";

/** Opens an inbound file; limited by `signal`. Errors never contain its address, because that includes the token. */
export async function fetchMedia(
  { api, fileUrl }: BotApi,
  { ref }: InboundMedia,
  signal: AbortSignal,
): Promise<Readable> {
  const path = await pathOf(api, ref.fileId, signal as unknown as CallSignal);
  return openDownload({ url: fileUrl(path), headers: {}, signal, provider: PROVIDER });
}

async function pathOf(api: Api, fileId: Json | undefined, signal: CallSignal): Promise<string> {
  if (typeof fileId !== "string") throw noFile("the message contains no file");
  try {
    const { file_path } = await api.raw.getFile({ file_id: fileId }, signal);
    if (file_path) return file_path;
  } catch (error) {
    if (!(error instanceof GrammyError)) throw noFile(`${PROVIDER} could not be reached`);
    // Bots get 20 MB: https://core.telegram.org/bots/api#getfile
    if (/too big/i.test(error.description)) throw new GatewayError("PAYLOAD_TOO_LARGE");
    throw noFile(`${PROVIDER} answered ${error.error_code}`);
  }
  throw noFile(`${PROVIDER} did not say where it is`);
}
