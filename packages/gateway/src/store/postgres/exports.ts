import { countFitting } from "../../lib/fitting.ts";
import type { ExportCursor, Exports, FormatExport } from "../exports.ts";
import { MESSAGE_COLUMNS, type StoredMessage } from "../sql/index.ts";
import type { Param } from "../statement.ts";
import type { Work } from "./work.ts";

/** Messages of a slice, and bytes of their text and steps; a longer message has one to itself. */
const SLICE_ROWS = 500;
const SLICE_BYTES = 1024 * 1024;
/** How much time the first slice looks at. */
const FIRST_SPAN_MS = 3_600_000;
const LAST_TS = Number.MAX_SAFE_INTEGER;

interface Key {
  id: number;
  ts: number;
  bytes: number;
}
type Row = StoredMessage & { name: string; chat_id: string };

/** @param format a message as a line, without its end */
export function createExports(work: Work, format: FormatExport): Exports {
  const begin = async (): Promise<ExportCursor> => {
    const [row] = await work.read<{ id: number | null }>("SELECT max(id) AS id FROM messages", []);
    return { ts: -1, id: 0, maxId: row?.id ?? 0 };
  };

  /** When the next message after the cursor is, over all chats. */
  const nextTime = async (chats: string, params: readonly Param[], { ts, id, maxId }: ExportCursor) => {
    const [row] = await work.read<{ ts: number | null }>(
      `SELECT min(first.ts) AS ts FROM chats c CROSS JOIN LATERAL (
         SELECT ts FROM messages WHERE chat = c.id AND (ts, id) > (?, ?) AND id <= ? ORDER BY ts, id LIMIT 1) first
       WHERE ${chats}`,
      [ts, id, maxId, ...params],
    );
    return row?.ts ?? undefined;
  };

  /** The first messages after the cursor up to the time `upto`. Each chat gives its own first ones, by its index. */
  const keysUpto = (upto: number, chats: string, params: readonly Param[], cursor: ExportCursor) =>
    work.read<Key>(
      `SELECT first.id, first.ts, first.bytes + coalesce(octet_length(p.steps), 0) AS bytes FROM (
         SELECT m.id, m.ts, m.bytes FROM chats c CROSS JOIN LATERAL (
           SELECT id, ts, octet_length(content) AS bytes FROM messages
           WHERE chat = c.id AND (ts, id) > (?, ?) AND ts <= ? AND id <= ? ORDER BY ts, id LIMIT ${SLICE_ROWS}) m
         WHERE ${chats} ORDER BY m.ts, m.id LIMIT ${SLICE_ROWS}) first
       LEFT JOIN message_steps p ON p.message = first.id ORDER BY first.ts, first.id`,
      [cursor.ts, cursor.id, upto, cursor.maxId, ...params],
    );

  const rowsOf = (keys: readonly Key[]) =>
    work.read<Row>(
      `SELECT ${MESSAGE_COLUMNS}, s.name, c.chat_id, p.steps FROM messages m
       JOIN sessions s ON s.id = m.session JOIN chats c ON c.id = m.chat
       LEFT JOIN message_steps p ON p.message = m.id
       WHERE m.id = ANY (string_to_array(?, ',')::bigint[]) ORDER BY m.ts, m.id`,
      [keys.map(({ id }) => id).join(",")],
    );

  return {
    async slice(agentId, chatId, from) {
      const cursor = { ...(from ?? (await begin())) };
      const chats = chatId === undefined ? "c.agent_id = ?" : "c.agent_id = ? AND c.chat_id = ?";
      const params = chatId === undefined ? [agentId] : [agentId, chatId];
      const next = await nextTime(chats, params, cursor);
      if (next === undefined) return { text: "", cursor: undefined };
      const span = cursor.span ?? FIRST_SPAN_MS;
      const upto = Math.min(LAST_TS, next + span);
      const keys = await keysUpto(upto, chats, params, cursor);
      const fitting = keys.slice(
        0,
        countFitting(
          keys.map(({ bytes }) => bytes),
          SLICE_BYTES,
        ),
      );
      const rows = await rowsOf(fitting);
      const text = rows
        .map(
          ({ name: sessionName, chat_id, ...message }) =>
            `${format({ chatId: chat_id, sessionName, message })}\n`,
        )
        .join("");
      const last = fitting.at(-1);
      if (last) Object.assign(cursor, { ts: last.ts, id: last.id });
      // Twice the time that a full slice covered; where it covered less, more time.
      cursor.span =
        keys.length < SLICE_ROWS ? Math.min(span * 4, LAST_TS) : Math.max(1, 2 * (keys.at(-1)!.ts - next));
      return { text, cursor };
    },
  };
}
