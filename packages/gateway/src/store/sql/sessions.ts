import { type Change, change, hitting, sql } from "../change.ts";
import type { Param } from "../statement.ts";
import type { Sql } from "./port.ts";
import type { Tables } from "./tables.ts";

/** A session's row with the name of its chat. */
export type SessionRow = Tables["sessions"] & { chat_id: string };

/** Where an agent program keeps the same conversation. `upto` is the last message that it contains. */
export interface RuntimeState {
  type: string;
  token: string;
  upto: number;
}

/** A session to be stored. */
export interface NewSession {
  uuid: string;
  agentId: string;
  /** As stored. */
  chatId: string;
  name: string;
  /** True if the name is a placeholder. */
  unnamed: boolean;
  now: number;
}

/** What a turn stores in its session. */
export interface SessionOutcome {
  runtimeState: RuntimeState | null;
  /** Model that answered; unchanged if undefined. */
  model?: string | undefined;
  contextPercent?: number | undefined;
}

/** Columns that change on their own. */
export type SessionValues = Partial<
  Pick<
    SessionRow,
    | "name"
    | "unnamed"
    | "image_config"
    | "video_config"
    | "model_override"
    | "context_percent"
    | "runtime_state"
    | "summary"
    | "summary_upto"
    | "last_message"
  >
>;

/**
 * Conversations; each belongs to a chat of an agent. Changes name a session by its id (`uuid`), because the number of a
 * row that was removed may be given to another.
 */
export interface StoredSessions {
  /** `chatId` as stored, here and below. */
  find(agentId: string, chatId: string, uuid: string): Promise<SessionRow | undefined>;
  /** The session with this id, whoever's it is. */
  byId(uuid: string): Promise<SessionRow | undefined>;
  /** The session of the chat in which something happened last. */
  latest(agentId: string, chatId: string): Promise<SessionRow | undefined>;
  /** All of a chat, latest first. */
  list(agentId: string, chatId: string): Promise<SessionRow[]>;
  /** Adds a session, and its chat unless that is there. */
  add(session: NewSession): Change;
  /** Names a session whose name is still a placeholder. */
  nameFirst(uuid: string, name: string): Change;
  /** Answers false when the session is gone. */
  update(uuid: string, values: SessionValues): Change<boolean>;
  settle(uuid: string, outcome: SessionOutcome): Change;
  remove(uuid: string): Change;
}

const ROWS = "SELECT s.*, c.chat_id FROM sessions s JOIN chats c ON c.id = s.chat";
const IN_CHAT = `${ROWS} WHERE s.agent_id = ? AND c.chat_id = ?`;
const LATEST = "ORDER BY s.last_activity DESC, s.id DESC";

export function createSessions({ read }: Sql): StoredSessions {
  return {
    find: async (agentId, chatId, uuid) =>
      (await read<SessionRow>(`${IN_CHAT} AND s.uuid = ?`, [agentId, chatId, uuid]))[0],
    byId: async (uuid) => (await read<SessionRow>(`${ROWS} WHERE s.uuid = ?`, [uuid]))[0],
    latest: async (agentId, chatId) =>
      (await read<SessionRow>(`${IN_CHAT} ${LATEST} LIMIT 1`, [agentId, chatId]))[0],
    list: (agentId, chatId) => read<SessionRow>(`${IN_CHAT} ${LATEST}`, [agentId, chatId]),

    add: ({ uuid, agentId, chatId, name, unnamed, now }) =>
      change(
        sql(
          `INSERT INTO chats (agent_id, chat_id, last_activity) VALUES (?, ?, ?)
           ON CONFLICT (agent_id, chat_id) DO NOTHING`,
          agentId,
          chatId,
          now,
        ),
        sql(
          `INSERT INTO sessions (uuid, chat, agent_id, name, unnamed, created_at, last_activity)
           SELECT ?, id, agent_id, ?, ?, ?, ? FROM chats WHERE agent_id = ? AND chat_id = ?`,
          uuid,
          name,
          unnamed ? 1 : 0,
          now,
          now,
          agentId,
          chatId,
        ),
      ),
    nameFirst: (uuid, name) =>
      change(sql("UPDATE sessions SET name = ?, unnamed = 0 WHERE uuid = ? AND unnamed = 1", name, uuid)),
    update(uuid, values) {
      // The names of columns come from the type, never from outside.
      const columns = Object.keys(values).map((name) => `${name} = ?`);
      const params: Param[] = [...Object.values(values), uuid];
      return hitting(sql(`UPDATE sessions SET ${columns.join(", ")} WHERE uuid = ?`, ...params));
    },
    settle: (uuid, { runtimeState, model, contextPercent }) =>
      change(
        sql(
          `UPDATE sessions SET model = coalesce(?, model), context_percent = coalesce(?, context_percent),
             runtime_state = ? WHERE uuid = ?`,
          model ?? null,
          contextPercent === undefined ? null : String(contextPercent),
          runtimeState && JSON.stringify(runtimeState),
          uuid,
        ),
      ),
    remove: (uuid) => change(sql("DELETE FROM sessions WHERE uuid = ?", uuid)),
  };
}
