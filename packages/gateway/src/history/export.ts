import { Readable } from "node:stream";
import type { Database } from "../store/sqlite/index.ts";
import type { ExportArgs, ExportCursor, ExportSlice } from "./export-slice.ts";

/**
 * An agent's messages as NDJSON, oldest first; `chat` is a stored chat id or the `chat_id` of an API chat. Slices are
 * read as the taker takes them, and no lock or snapshot is held in between; what is stored after the start is left
 * out. Rejects before the first byte when the first slice cannot be read.
 */
export async function exportLines(
  db: Database,
  agentId: string,
  chat: string | undefined,
  signal: AbortSignal,
): Promise<Readable> {
  const chatId = chat === undefined ? undefined : storedChatId(db, agentId, chat);
  const read = (cursor: ExportCursor | undefined) =>
    db.readerJob<ExportSlice>("exportSlice", { agentId, chatId, cursor } satisfies ExportArgs);
  const first = await read(undefined);
  return Readable.from(
    (async function* () {
      for (let slice = first; ; slice = await read(slice.cursor)) {
        if (slice.text !== "") yield slice.text;
        if (!slice.cursor || signal.aborted) return;
      }
    })(),
    { objectMode: false, highWaterMark: 256 * 1024 },
  );
}

function storedChatId(db: Database, agentId: string, chat: string): string {
  const known = db.all("SELECT 1 FROM chats WHERE agent_id = ? AND chat_id = ?", [agentId, chat]);
  return known.length > 0 ? chat : `api-${chat}`;
}
