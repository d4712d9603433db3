import type { Attachment, MessageError, MessageStep } from "@agent-gateway/contract";
import { countFitting } from "../lib/fitting.ts";
import type { HistoryEntry } from "../runtimes/index.ts";
import type { Database, Statement, Tables } from "../store/sqlite/index.ts";
import { nameFrom, PLACEHOLDER_NAME } from "./names.ts";

/** A session's row with the names of its chat. */
export type SessionRow = Tables["sessions"] & { chat_id: string };

/** Where an agent program keeps the same conversation. `upto` is the last message that it contains. */
export interface RuntimeState {
  type: string;
  token: string;
  upto: number;
}

/** A message's extra fields; absent ones are not stored. */
export interface MessageExtra {
  interrupted?: true;
  senderName?: string;
  attachments?: Attachment[];
  mediaFiles?: string[];
  /** The turn failed; agents are never given such a message. */
  error?: MessageError;
}

const PREVIEW_CHARS = 200;
/** Messages that are part of the conversation; the record of a turn that failed or said nothing is not. */
const IS_SAID = `(extra IS NULL OR json_extract(extra, '$.error') IS NULL)
  AND (role = 0 OR content <> '' OR json_extract(extra, '$.attachments') IS NOT NULL)`;
/** Bytes of the conversation that a new process is told: more than any model takes. */
const MAX_RECENT_BYTES = 4 * 1024 * 1024;
/** Text that has no room is read as its beginning alone. */
const RECENT_COLUMNS = `role, iif(octet_length(content) <= ${MAX_RECENT_BYTES}, content,
  substr(content, 1, ${MAX_RECENT_BYTES / 4}) || char(10, 10) || '[The rest of this message was left out.]') AS content`;
const selectSession =
  "SELECT s.*, c.chat_id FROM sessions s JOIN chats c ON c.id = s.chat WHERE s.agent_id = ? AND c.chat_id = ?";

/** Reads and statements for chats, sessions, messages and turns. Statements take effect through `db.write`. */
export function createSessionStore(db: Database) {
  return {
    find(agentId: string, chatId: string, uuid: string): SessionRow | undefined {
      return db.all<SessionRow>(`${selectSession} AND s.uuid = ?`, [agentId, chatId, uuid])[0];
    },
    byRowId(id: number): SessionRow | undefined {
      const text = "SELECT s.*, c.chat_id FROM sessions s JOIN chats c ON c.id = s.chat WHERE s.id = ?";
      return db.all<SessionRow>(text, [id])[0];
    },
    latest(agentId: string, chatId: string): SessionRow | undefined {
      const text = `${selectSession} ORDER BY s.last_activity DESC, s.id DESC LIMIT 1`;
      return db.all<SessionRow>(text, [agentId, chatId])[0];
    },
    list(agentId: string, chatId: string): SessionRow[] {
      return db.all<SessionRow>(`${selectSession} ORDER BY s.last_activity DESC, s.id DESC`, [
        agentId,
        chatId,
      ]);
    },
    lastMessageId(session: number): number {
      const text = "SELECT id FROM messages WHERE session = ? ORDER BY ts DESC, id DESC LIMIT 1";
      return db.all<{ id: number }>(text, [session])[0]?.id ?? 0;
    },
    /** Highest message id of all; a message stored later has a higher one. */
    maxMessageId(): number {
      return db.all<{ id: number | null }>("SELECT max(id) AS id FROM messages")[0]?.id ?? 0;
    },
    /**
     * The newest `limit` messages of a session with `afterId` < id <= `uptoId`, oldest first, as far as an agent can
     * take them: older ones go, and of the newest no more than the beginning.
     */
    recent(session: number, limit: number, afterId: number, uptoId: number): HistoryEntry[] {
      const select = <T>(columns: string, most: number) =>
        db.all<T>(
          `SELECT ${columns} FROM messages WHERE session = ? AND id > ? AND id <= ? AND ${IS_SAID}
           ORDER BY ts DESC, id DESC LIMIT ?`,
          [session, afterId, uptoId, most],
        );
      const sizes = select<{ bytes: number }>("octet_length(content) AS bytes", limit);
      const fitting = countFitting(
        sizes.map(({ bytes }) => bytes),
        MAX_RECENT_BYTES,
      );
      return select<{ role: number; content: string }>(RECENT_COLUMNS, fitting)
        .reverse()
        .map((row) => ({ role: row.role === 0 ? "user" : "assistant", text: row.content }));
    },
    /** Ids of a session's conversation messages above `afterId`, oldest first. */
    messageIds(session: number, afterId: number): number[] {
      const text = `SELECT id FROM messages WHERE session = ? AND id > ? AND ${IS_SAID} ORDER BY ts, id`;
      return db.all<{ id: number }>(text, [session, afterId]).map((row) => row.id);
    },

    createSession(
      agentId: string,
      chatId: string,
      uuid: string,
      name: string | undefined,
      now: number,
    ): Statement[] {
      return [
        {
          sql: `INSERT INTO chats (agent_id, chat_id, last_activity) VALUES (?, ?, ?)
                ON CONFLICT (agent_id, chat_id) DO NOTHING`,
          params: [agentId, chatId, now],
        },
        {
          sql: `INSERT INTO sessions (uuid, chat, agent_id, name, unnamed, created_at, last_activity)
                SELECT ?, id, agent_id, ?, ?, ?, ? FROM chats WHERE agent_id = ? AND chat_id = ?`,
          params: [uuid, name ?? PLACEHOLDER_NAME, name === undefined ? 1 : 0, now, now, agentId, chatId],
        },
      ];
    },

    /** A message with its counters; `media` are the paths of the uploads that it refers to. */
    addMessage(
      uuid: string,
      message: {
        role: "user" | "assistant";
        content: string;
        ts: number;
        extra: MessageExtra;
        media?: readonly string[];
        steps?: readonly MessageStep[];
      },
    ): Statement[] {
      const extra = Object.keys(message.extra).length > 0 ? JSON.stringify(message.extra) : null;
      const { role, content, ts } = message;
      const statements: Statement[] = [
        {
          sql: `INSERT INTO messages (chat, session, role, content, ts, extra)
                SELECT chat, id, ?, ?, ?, ? FROM sessions WHERE uuid = ?`,
          params: [role === "user" ? 0 : 1, content, ts, extra, uuid],
        },
      ];
      for (const path of message.media ?? []) {
        statements.push({
          sql: `INSERT OR IGNORE INTO message_media (message, agent_id, path)
                SELECT (SELECT max(id) FROM messages), agent_id, ? FROM sessions WHERE uuid = ?`,
          params: [path, uuid],
        });
      }
      if (message.steps && message.steps.length > 0) {
        statements.push({
          sql: "INSERT INTO message_steps (message, steps) SELECT max(id), ? FROM messages",
          params: [JSON.stringify(message.steps)],
        });
      }
      statements.push(
        {
          sql: `UPDATE sessions SET message_count = message_count + 1, last_activity = ?,
                  last_message = ifnull(nullif(?, ''), last_message)
                WHERE uuid = ?`,
          params: [ts, content.slice(0, PREVIEW_CHARS), uuid],
        },
        {
          sql: `UPDATE chats SET message_count = message_count + 1, last_activity = ?
                WHERE id = (SELECT chat FROM sessions WHERE uuid = ?)`,
          params: [ts, uuid],
        },
      );
      return statements;
    },

    /** Names a session that has no name yet after its first message. */
    nameAfter(uuid: string, prompt: string): Statement {
      return {
        sql: "UPDATE sessions SET name = ?, unnamed = 0 WHERE uuid = ? AND unnamed",
        params: [nameFrom(prompt), uuid],
      };
    },

    startTurn(
      uuid: string,
      requestId: string,
      { kind, keyId, text }: { kind: string; keyId?: string | null | undefined; text: string },
      now: number,
    ): Statement {
      return {
        sql: `INSERT INTO turns (request_id, session, kind, state, started_at, key_id, told_chars)
              SELECT ?, id, ?, 'running', ?, ?, ? FROM sessions WHERE uuid = ?`,
        params: [requestId, kind, now, keyId ?? null, text.length, uuid],
      };
    },
    /** A session has at most one running turn, so the small index of running turns finds it. */
    endTurn(uuid: string, state: Tables["turns"]["state"], now: number): Statement {
      return {
        sql: `UPDATE turns SET state = ?, ended_at = ?
              WHERE state = 'running' AND session = (SELECT id FROM sessions WHERE uuid = ?)`,
        params: [state, now, uuid],
      };
    },
    /** The same for a turn that a crash cut off, whose session may be gone. */
    closeTurn(requestId: string, now: number): Statement {
      return {
        sql: "UPDATE turns SET state = 'interrupted', ended_at = ? WHERE state = 'running' AND request_id = ?",
        params: [now, requestId],
      };
    },
    addPart(requestId: string, text: string): Statement {
      return { sql: "INSERT INTO turn_parts (request_id, text) VALUES (?, ?)", params: [requestId, text] };
    },
    dropParts(requestId: string): Statement {
      return { sql: "DELETE FROM turn_parts WHERE request_id = ?", params: [requestId] };
    },
    /** What a turn stores in its session: the agent program's own session, if any, and what it reported. */
    settle(
      session: number,
      state: Omit<RuntimeState, "upto"> | null,
      outcome: { model?: string; contextPercent?: number } = {},
    ): Statement {
      return {
        sql: `UPDATE sessions SET model = ifnull(?, model), context_percent = ifnull(?, context_percent),
                runtime_state = iif(? IS NULL, NULL, json_object('type', ?, 'token', ?, 'upto', ifnull(
                  (SELECT id FROM messages WHERE session = ? ORDER BY ts DESC, id DESC LIMIT 1), 0)))
              WHERE id = ?`,
        params: [
          outcome.model ?? null,
          outcome.contextPercent ?? null,
          state?.token ?? null,
          state?.type ?? null,
          state?.token ?? null,
          session,
          session,
        ],
      };
    },
    /** Sets columns of a session; column names come from the type, never from outside. */
    update(session: number, values: Partial<Omit<Tables["sessions"], "id">>): Statement {
      const columns = Object.keys(values).map((name) => `${name} = ?`);
      return {
        sql: `UPDATE sessions SET ${columns.join(", ")} WHERE id = ?`,
        params: [...Object.values(values), session],
      };
    },
    remove(session: number): Statement {
      return { sql: "DELETE FROM sessions WHERE id = ?", params: [session] };
    },
    runningTurns() {
      return db.all<Pick<Tables["turns"], "request_id" | "session" | "key_id" | "told_chars">>(
        "SELECT request_id, session, key_id, told_chars FROM turns WHERE state = 'running' ORDER BY id",
      );
    },
    /** Text pieces of a turn that was cut off, in order. A piece may be empty; no pieces mean that the agent sent nothing. */
    parts(requestId: string): string[] {
      return db
        .all<{ text: string }>("SELECT text FROM turn_parts WHERE request_id = ? ORDER BY id", [requestId])
        .map((part) => part.text);
    },
  };
}
export type SessionStore = ReturnType<typeof createSessionStore>;
