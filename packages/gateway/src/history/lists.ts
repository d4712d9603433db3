import type { chat, chatSession, sessionRecord } from "@agent-gateway/contract";
import type { Database } from "../store/sqlite/index.ts";

export type ChatRecord = ReturnType<typeof chat>["_output"];
export type ChatSession = ReturnType<typeof chatSession>["_output"];
export type SessionRecord = ReturnType<typeof sessionRecord>["_output"];

const iso = (ms: number) => new Date(ms).toISOString();

export async function readChats(db: Database, agentId: string): Promise<ChatRecord[]> {
  const rows = await db.slow<{ chat_id: string; message_count: number; last_activity: number }>(
    `SELECT chat_id, message_count, last_activity FROM chats
     WHERE agent_id = ? AND EXISTS (SELECT 1 FROM sessions WHERE chat = chats.id)
     ORDER BY last_activity DESC, id DESC`,
    [agentId],
  );
  return rows.map((row) => ({
    chatId: row.chat_id,
    messageCount: row.message_count,
    lastActivity: iso(row.last_activity),
  }));
}

export async function readChatSessions(
  db: Database,
  agentId: string,
  chatId: string,
): Promise<ChatSession[]> {
  const rows = await db.slow<{
    uuid: string;
    name: string;
    message_count: number;
    created_at: number;
    last_activity: number;
  }>(
    `SELECT s.uuid, s.name, s.message_count, s.created_at, s.last_activity
     FROM chats c JOIN sessions s ON s.chat = c.id WHERE c.agent_id = ? AND c.chat_id = ?
     ORDER BY s.last_activity DESC, s.id DESC`,
    [agentId, chatId],
  );
  return rows.map((row) => ({
    sessionId: row.uuid,
    messageCount: row.message_count,
    createdAt: iso(row.created_at),
    lastActivity: iso(row.last_activity),
    name: row.name,
  }));
}

interface SessionRow {
  chat_id: string;
  uuid: string;
  name: string;
  message_count: number;
  created_at: number;
  last_activity: number;
  last_message: string | null;
  image_config: string | null;
  video_config: string | null;
  model: string | null;
}

const object = (text: string | null) =>
  text === null ? null : (JSON.parse(text) as Record<string, unknown>);

export async function readSessions(db: Database, agentId: string): Promise<SessionRecord[]> {
  const rows = await db.slow<SessionRow>(
    `SELECT c.chat_id, s.uuid, s.name, s.message_count, s.created_at, s.last_activity, s.last_message,
       s.image_config, s.video_config, s.model
     FROM chats c JOIN sessions s ON s.chat = c.id WHERE c.agent_id = ?
     ORDER BY s.last_activity DESC, s.id DESC`,
    [agentId],
  );
  return rows.map((row) => ({
    chatId: row.chat_id,
    sessionId: row.uuid,
    // `api-…`, `botchat-…`: what stands before the first hyphen.
    source: row.chat_id.split("-", 1)[0]!,
    messageCount: row.message_count,
    createdAt: row.created_at,
    lastActivity: row.last_activity,
    lastMessage: row.last_message,
    sessionName: row.name,
    imageConfig: object(row.image_config),
    videoConfig: object(row.video_config),
    model: row.model,
  }));
}
