import { change } from "../../../packages/gateway/src/store/change.ts";
import type { Store } from "../../../packages/gateway/src/store/index.ts";

/** A message as a conformance suite stores it. */
export interface Said {
  id: number;
  agent: string;
  chat: string;
  session: string;
  content: string;
  ts: number;
  role?: 0 | 1;
  steps?: string;
}

/** Stores messages with ids and times of the suite's choice; chats and sessions come with their first message. */
export async function say(store: Store, messages: readonly Said[]): Promise<void> {
  const statement = (sql: string, ...params: (string | number | null)[]) => ({ sql, params });
  for (const { id, agent, chat, session, content, ts, role, steps } of messages) {
    await store.commit(
      change(
        statement(
          `INSERT INTO chats (agent_id, chat_id, message_count, last_activity) VALUES (?, ?, 1, ?)
           ON CONFLICT (agent_id, chat_id) DO UPDATE SET message_count = chats.message_count + 1,
             last_activity = excluded.last_activity`,
          agent,
          chat,
          ts,
        ),
        statement(
          `INSERT INTO sessions (uuid, chat, agent_id, name, created_at, last_activity, message_count, last_message)
           SELECT ?, id, ?, ?, ?, ?, 1, ? FROM chats WHERE agent_id = ? AND chat_id = ?
           ON CONFLICT (uuid) DO UPDATE SET message_count = sessions.message_count + 1,
             last_activity = excluded.last_activity, last_message = excluded.last_message`,
          session,
          agent,
          `Name of ${session}`,
          ts,
          ts,
          content.slice(0, 20),
          agent,
          chat,
        ),
        statement(
          `INSERT INTO messages (id, chat, session, role, content, ts)
           SELECT ?, chat, id, ?, ?, ? FROM sessions WHERE uuid = ?`,
          id,
          role ?? 0,
          content,
          ts,
          session,
        ),
        ...(steps === undefined
          ? []
          : [statement("INSERT INTO message_steps (message, steps) VALUES (?, ?)", id, steps)]),
      ),
    );
  }
}
