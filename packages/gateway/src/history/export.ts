import { Readable } from "node:stream";
import type { Store } from "../store/index.ts";

/**
 * An agent's messages as NDJSON, oldest first; `chat` is a stored chat id or the `chat_id` of an API chat. Slices are
 * read as the taker takes them, and no lock or snapshot is held in between; what is stored after the start is left
 * out. Rejects before the first byte when the first slice cannot be read.
 */
export async function exportLines(
  { exports, history }: Pick<Store, "exports" | "history">,
  agentId: string,
  chat: string | undefined,
  signal: AbortSignal,
): Promise<Readable> {
  const chatId = chat === undefined || (await history.hasChat(agentId, chat)) ? chat : `api-${chat}`;
  const first = await exports.slice(agentId, chatId, undefined);
  return Readable.from(
    (async function* () {
      for (let slice = first; ; slice = await exports.slice(agentId, chatId, slice.cursor)) {
        if (slice.text !== "") yield slice.text;
        if (!slice.cursor || signal.aborted) return;
      }
    })(),
    { objectMode: false, highWaterMark: 256 * 1024 },
  );
}
