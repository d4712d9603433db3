import type { Attachment, MessageError, MessageStep } from "@agent-gateway/contract";
import { countFitting } from "../../lib/fitting.ts";
import { type Change, change, followed, hitting, sql } from "../change.ts";
import type { Statement } from "../statement.ts";
import type { Sql } from "./port.ts";

/** A message's extra fields; absent ones are not stored. */
export interface MessageExtra {
  interrupted?: true;
  senderName?: string;
  attachments?: Attachment[];
  mediaFiles?: string[];
  /** The turn failed; agents are never given such a message. */
  error?: MessageError;
}

/** A message to be stored. */
export interface NewMessage {
  /** From `store.ids`. */
  id: number;
  /** Id of its session. */
  session: string;
  role: "user" | "assistant";
  content: string;
  ts: number;
  extra: MessageExtra;
  /** Paths of the uploads that it refers to. */
  media?: readonly string[];
  /** What the agent did for it. */
  steps?: readonly MessageStep[];
}

/** What was said, as an agent is told it. */
export interface SaidMessage {
  role: "user" | "assistant";
  text: string;
}

export interface StoredMessages {
  /** Stores a message with its counters. Answers false, with nothing stored, when its session is gone. */
  add(message: NewMessage): Change<boolean>;
  /**
   * The newest `limit` messages of a session's row with `after` < id <= `upto`, oldest first, as far as an agent can
   * take them: older ones go, and of the newest no more than the beginning.
   */
  recent(session: number, limit: number, range: { after: number; upto: number }): Promise<SaidMessage[]>;
  /** Ids of what was said in a session's row after the message `after`, oldest first. */
  saidAfter(session: number, after: number): Promise<number[]>;
  /** The last message of a session's row with an id up to `upto`; 0 if there is none. */
  last(session: number, upto: number): Promise<number>;
}

const PREVIEW_CHARS = 200;
/**
 * Messages that are part of the conversation; the record of a turn that failed or said nothing is not. In JSON, no text
 * can contain the patterns: its quotation marks are escaped.
 */
const IS_SAID = `(extra IS NULL OR extra NOT LIKE '%"error":{%')
  AND (role = 0 OR content <> '' OR extra LIKE '%"attachments":[%')`;
/** Bytes of the conversation that a new process is told: more than any model takes. */
const MAX_RECENT_BYTES = 4 * 1024 * 1024;
/** Text that has no room is read as its beginning alone. */
const RECENT_COLUMNS = `role, octet_length(content) AS bytes,
  CASE WHEN octet_length(content) <= ${MAX_RECENT_BYTES} THEN content
    ELSE substr(content, 1, ${MAX_RECENT_BYTES / 4}) END AS content`;
const LEFT_OUT = "\n\n[The rest of this message was left out.]";

/** A message that is being stored, as search needs it. */
export interface SearchEntry {
  id: number;
  /** Id of its session. */
  session: string;
  content: string;
  ts: number;
}

/** @param entry what makes a message known to search */
export function createMessages(
  { read }: Sql,
  entry: (message: SearchEntry) => readonly Statement[],
): StoredMessages {
  return {
    add({ id, session, role, content, ts, extra, media = [], steps = [] }) {
      return followed(
        hitting(
          sql(
            `INSERT INTO messages (id, chat, session, role, content, ts, extra)
             SELECT ?, chat, id, ?, ?, ?, ? FROM sessions WHERE uuid = ?`,
            id,
            role === "user" ? 0 : 1,
            content,
            ts,
            Object.keys(extra).length > 0 ? JSON.stringify(extra) : null,
            session,
          ),
        ),
        change(...entry({ id, session, content, ts })),
        ...media.map((path) =>
          change(
            sql(
              `INSERT INTO message_media (message, agent_id, path) SELECT ?, agent_id, ? FROM sessions WHERE uuid = ?
               ON CONFLICT DO NOTHING`,
              id,
              path,
              session,
            ),
          ),
        ),
        ...(steps.length > 0
          ? [
              change(
                sql(
                  "INSERT INTO message_steps (message, steps) SELECT ?, ? FROM sessions WHERE uuid = ?",
                  id,
                  JSON.stringify(steps),
                  session,
                ),
              ),
            ]
          : []),
        change(
          sql(
            `UPDATE sessions SET message_count = message_count + 1, last_activity = ?,
               last_message = coalesce(nullif(?, ''), last_message)
             WHERE uuid = ?`,
            ts,
            content.slice(0, PREVIEW_CHARS),
            session,
          ),
          sql(
            `UPDATE chats SET message_count = message_count + 1, last_activity = ?
             WHERE id = (SELECT chat FROM sessions WHERE uuid = ?)`,
            ts,
            session,
          ),
        ),
      );
    },

    async recent(session, limit, { after, upto }) {
      const select = <T>(columns: string, most: number) =>
        read<T>(
          `SELECT ${columns} FROM messages WHERE session = ? AND id > ? AND id <= ? AND ${IS_SAID}
           ORDER BY ts DESC, id DESC LIMIT ?`,
          [session, after, upto, most],
        );
      const sizes = await select<{ bytes: number }>("octet_length(content) AS bytes", limit);
      const fitting = countFitting(
        sizes.map(({ bytes }) => bytes),
        MAX_RECENT_BYTES,
      );
      const rows = await select<{ role: number; bytes: number; content: string }>(RECENT_COLUMNS, fitting);
      return rows.reverse().map(({ role, bytes, content }) => ({
        role: role === 0 ? "user" : "assistant",
        text: bytes <= MAX_RECENT_BYTES ? content : content + LEFT_OUT,
      }));
    },
    async saidAfter(session, after) {
      const text = `SELECT id FROM messages WHERE session = ? AND id > ? AND ${IS_SAID} ORDER BY ts, id`;
      return (await read<{ id: number }>(text, [session, after])).map(({ id }) => id);
    },
    async last(session, upto) {
      const text = "SELECT id FROM messages WHERE session = ? AND id <= ? ORDER BY ts DESC, id DESC LIMIT 1";
      return (await read<{ id: number }>(text, [session, upto]))[0]?.id ?? 0;
    },
  };
}
