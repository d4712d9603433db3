import type { messagesPage } from "@agent-gateway/contract";
import { countFitting } from "../lib/fitting.ts";
import type { Param } from "../store/sqlite/index.ts";
import { MESSAGE_COLUMNS, type MessageRow, type Read, scopeOf, toRecord } from "./records.ts";
import { withSteps } from "./steps.ts";

/** Which messages of a chat to return. `before` and `after` bound `ts`, together with an id the pair (ts, id). */
export interface PageQuery {
  agentId: string;
  chatId: string;
  /** At least 1. */
  limit: number;
  order: "asc" | "desc";
  before?: number | undefined;
  before_id?: number | undefined;
  after?: number | undefined;
  after_id?: number | undefined;
  session_id?: string | undefined;
  /** What the agent did for each of its messages, too. */
  include?: "steps" | undefined;
}
export type Page = ReturnType<typeof messagesPage>["_output"];

/** Bytes of text on a page; a longer message has one to itself. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** One page by index, whatever the size of the chat. */
export function readPage(read: Read, query: PageQuery): Page {
  const scope = scopeOf(read, query.agentId, query.chatId, query.session_id);
  if (!scope) return { messages: [], hasMore: false, nextCursor: null, nextCursorId: null };
  const where = [scope.session === undefined ? "m.chat = ?" : "m.session = ?"];
  const params: Param[] = [scope.session ?? scope.chat];
  const bound = (sign: "<" | ">", ts: number | undefined, id: number | undefined) => {
    if (ts === undefined) return;
    where.push(id === undefined ? `m.ts ${sign} ?` : `(m.ts, m.id) ${sign} (?, ?)`);
    params.push(ts, ...(id === undefined ? [] : [id]));
  };
  bound("<", query.before, query.before_id);
  bound(">", query.after, query.after_id);
  const direction = query.order === "asc" ? "ASC" : "DESC";
  const select = <T>(columns: string, limit: number) =>
    read<T>(
      `SELECT ${columns} FROM messages m INDEXED BY ${scope.session === undefined ? "messages_chat" : "messages_session"}
       CROSS JOIN sessions s ON s.id = m.session WHERE ${where.join(" AND ")}
       ORDER BY m.ts ${direction}, m.id ${direction} LIMIT ?`,
      [...params, limit],
    );
  // The length stands beside a text, which is not read for it.
  const sizes = select<{ bytes: number }>("octet_length(m.content) AS bytes", query.limit + 1);
  const fitting = countFitting(
    sizes.map(({ bytes }) => bytes),
    MAX_PAGE_BYTES,
  );
  const found = select<MessageRow>(MESSAGE_COLUMNS, Math.min(fitting, query.limit)).map(toRecord);
  const messages = query.include === "steps" ? withSteps(read, found) : found;
  const hasMore = sizes.length > messages.length;
  const last = hasMore ? messages.at(-1) : undefined;
  return { messages, hasMore, nextCursor: last?.ts ?? null, nextCursorId: last?.id ?? null };
}
