import type { message } from "@agent-gateway/contract";
import type { Param } from "../store/sqlite/index.ts";

/** Reads rows, on whichever connection. */
export type Read = <T>(sql: string, params?: readonly Param[]) => T[];

/** A message as the API shows it. */
export type MessageRecord = NonNullable<ReturnType<typeof message>["_output"]>;

export interface MessageRow {
  id: number;
  role: number;
  content: string;
  ts: number;
  extra: string | null;
  uuid: string;
}

/** Columns of {@link MessageRow} from `messages m` and `sessions s`. */
export const MESSAGE_COLUMNS = "m.id, m.role, m.content, m.ts, m.extra, s.uuid";

export function toRecord(row: MessageRow): MessageRecord {
  const record: MessageRecord = {
    role: row.role === 0 ? "user" : "assistant",
    content: row.content,
    ts: row.ts,
    sessionId: row.uuid,
    id: row.id,
  };
  return row.extra === null ? record : { ...record, ...(JSON.parse(row.extra) as Partial<MessageRecord>) };
}

/** Row ids of a chat and, where one is named, of a session in it; undefined when there is no such thing. */
export function scopeOf(
  read: Read,
  agentId: string,
  chatId: string,
  sessionId: string | undefined,
): { chat: number; session: number | undefined } | undefined {
  const chat = read<{ id: number }>("SELECT id FROM chats WHERE agent_id = ? AND chat_id = ?", [
    agentId,
    chatId,
  ])[0]?.id;
  if (chat === undefined) return undefined;
  if (sessionId === undefined) return { chat, session: undefined };
  const session = read<{ id: number }>("SELECT id FROM sessions WHERE uuid = ? AND chat = ?", [
    sessionId,
    chat,
  ])[0]?.id;
  return session === undefined ? undefined : { chat, session };
}
