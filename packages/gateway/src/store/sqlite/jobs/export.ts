import type { ExportCursor, ExportSlice, FormatExport } from "../../exports.ts";
import { MESSAGE_COLUMNS, type StoredMessage } from "../../sql/index.ts";
import type { Connection } from "../connection.ts";
import type { JobContext } from "../protocol.ts";

export interface ExportArgs {
  agentId: string;
  /** Stored id of the only chat to export. */
  chatId: string | undefined;
  /** Undefined for the first slice. */
  cursor: ExportCursor | undefined;
}

const SLICE_MS = 12;
const SLICE_CHARS = 256 * 1024;

type Row = StoredMessage & { name: string };
interface Chat {
  id: number;
  chatId: string;
  /** Its next message. */
  ts: number;
  next: number;
}

const before = (a: Chat, b: Chat) => a.ts - b.ts || a.next - b.next;

/** Job of the reader: the next lines, oldest first over all chats, which are merged by their indexes. */
export const exportSlice =
  (format: FormatExport) =>
  ({ db, slice }: JobContext, args: ExportArgs): Promise<ExportSlice> =>
    slice(() => readSlice(db, args, format));

function readSlice(
  db: Connection,
  { agentId, chatId, cursor: from }: ExportArgs,
  format: FormatExport,
): ExportSlice {
  const cursor = from ?? {
    ts: -1,
    id: 0,
    maxId: Number(db.get("SELECT max(id) AS id FROM messages")!.id ?? 0),
  };
  const waiting = openChats(db, agentId, chatId, cursor);
  const until = performance.now() + SLICE_MS;
  let text = "";
  while (waiting.length > 0) {
    const chat = waiting.pop()!;
    const limit = waiting.at(-1);
    let more = false;
    for (const row of messagesFrom(db, chat, cursor.maxId)) {
      const full = text.length > SLICE_CHARS || performance.now() > until;
      chat.ts = row.ts;
      chat.next = row.id;
      if (full && text !== "") return { text, cursor };
      if (limit && before(chat, limit) > 0) {
        more = true;
        break;
      }
      const { name: sessionName, ...message } = row;
      text += `${format({ chatId: chat.chatId, sessionName, message })}\n`;
      cursor.ts = row.ts;
      cursor.id = row.id;
    }
    if (more) insert(waiting, chat);
  }
  return { text, cursor: undefined };
}

/** The chats that have messages left, the one with the oldest last. */
function openChats(
  db: Connection,
  agentId: string,
  chatId: string | undefined,
  cursor: ExportCursor,
): Chat[] {
  const own = chatId === undefined ? "" : "AND chat_id = ?";
  const rows = db.all(`SELECT id, chat_id FROM chats WHERE agent_id = ? ${own}`, [
    agentId,
    ...(chatId === undefined ? [] : [chatId]),
  ]) as unknown as Array<{ id: number; chat_id: string }>;
  const next = db.prepare(
    "SELECT ts, id FROM messages WHERE chat = ? AND (ts, id) > (?, ?) AND id <= ? ORDER BY ts, id LIMIT 1",
  );
  const chats: Chat[] = [];
  for (const { id, chat_id } of rows) {
    const first = next.get(id, cursor.ts, cursor.id, cursor.maxId) as { ts: number; id: number } | undefined;
    if (first) chats.push({ id, chatId: chat_id, ts: first.ts, next: first.id });
  }
  return chats.sort((a, b) => before(b, a));
}

function messagesFrom(db: Connection, chat: Chat, maxId: number): Iterable<Row> {
  const sql = `SELECT ${MESSAGE_COLUMNS}, s.name, p.steps FROM messages m INDEXED BY messages_chat
    CROSS JOIN sessions s ON s.id = m.session LEFT JOIN message_steps p ON p.message = m.id
    WHERE m.chat = ? AND (m.ts, m.id) >= (?, ?) AND m.id <= ? ORDER BY m.ts, m.id`;
  return db.prepare(sql).iterate(chat.id, chat.ts, chat.next, maxId) as Iterable<unknown> as Iterable<Row>;
}

/** Keeps the order: the chat whose turn is next stays last. */
function insert(waiting: Chat[], chat: Chat): void {
  let low = 0;
  let high = waiting.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (before(waiting[middle]!, chat) > 0) low = middle + 1;
    else high = middle;
  }
  waiting.splice(low, 0, chat);
}
