import type { chat, chatSession, messagesPage, sessionRecord } from "@agent-gateway/contract";
import type { ChatRow, ListedSession, PageQuery, StoredPage } from "../store/index.ts";
import { toRecord, toRecordWithSteps } from "./records.ts";

export type ChatRecord = ReturnType<typeof chat>["_output"];
export type ChatSession = ReturnType<typeof chatSession>["_output"];
export type SessionRecord = ReturnType<typeof sessionRecord>["_output"];
export type Page = ReturnType<typeof messagesPage>["_output"];

const iso = (ms: number) => new Date(ms).toISOString();
const object = (text: string | null) =>
  text === null ? null : (JSON.parse(text) as Record<string, unknown>);

export const toChat = (row: ChatRow): ChatRecord => ({ ...row, lastActivity: iso(row.lastActivity) });

export const toChatSession = (row: ListedSession): ChatSession => ({
  sessionId: row.uuid,
  messageCount: row.messageCount,
  createdAt: iso(row.createdAt),
  lastActivity: iso(row.lastActivity),
  name: row.name,
});

export const toSession = (row: ListedSession): SessionRecord => ({
  chatId: row.chatId,
  sessionId: row.uuid,
  // `api-…`, `botchat-…`: what stands before the first hyphen.
  source: row.chatId.split("-", 1)[0]!,
  messageCount: row.messageCount,
  createdAt: row.createdAt,
  lastActivity: row.lastActivity,
  lastMessage: row.lastMessage,
  sessionName: row.unnamed ? null : row.name,
  imageConfig: object(row.imageConfig),
  videoConfig: object(row.videoConfig),
  model: row.model,
});

export function toPage({ messages, hasMore }: StoredPage, { include }: PageQuery): Page {
  const last = hasMore ? messages.at(-1) : undefined;
  return {
    messages: messages.map(include === "steps" ? toRecordWithSteps : toRecord),
    hasMore,
    nextCursor: last?.ts ?? null,
    nextCursorId: last?.id ?? null,
  };
}
