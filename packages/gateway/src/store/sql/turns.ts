import { type Change, change, hitting, sql } from "../change.ts";
import type { Sql } from "./port.ts";
import type { Tables } from "./tables.ts";

/** A turn that runs, as its row says. */
export interface RunningTurn {
  requestId: string;
  /** Null when it is gone. */
  session: { uuid: string; agentId: string; chatId: string; model: string | undefined } | null;
  /** Id of the key that asked for it; null when none did. */
  keyId: string | null;
  /** Length of what the agent was told, in characters. */
  told: number;
}

export interface NewTurn extends Pick<RunningTurn, "requestId" | "keyId" | "told"> {
  kind: string;
  now: number;
}

/** One row per turn, and the text of those that run. A session has at most one running turn. */
export interface StoredTurns {
  /** Answers false, with nothing stored, when the session is gone. */
  start(session: string, turn: NewTurn): Change<boolean>;
  /** Ends the running turn of a session. */
  end(session: string, state: Exclude<Tables["turns"]["state"], "running">, now: number): Change;
  /** Fails the whole unit, with an error for which {@link hasEnded} is true, where the turn does not run any more. */
  mustRun(requestId: string): Change;
  /** Ends a turn that a crash cut off; its session may be gone. */
  cutOff(requestId: string, now: number): Change;
  addPart(requestId: string, text: string): Change;
  dropParts(requestId: string): Change;
  /**
   * Turns that run, or ran when the gateway ended; oldest first. Those of one agent, and those whose session is gone
   * unless a message for another agent waits for them; or all.
   */
  running(agentId?: string): Promise<RunningTurn[]>;
  /** Pieces of a running turn's text, in order. One may be empty; none means that the agent has sent nothing. */
  parts(requestId: string): Promise<string[]>;
}

/** Whether a unit failed because the turn that it was to end had ended before. */
export const hasEnded = (error: unknown): boolean =>
  error instanceof Error &&
  /not.null constraint/i.test(error.message) &&
  error.message.includes("turn_parts");

const OF_AGENT = `AND (s.agent_id = ? OR (s.id IS NULL AND NOT EXISTS (
  SELECT 1 FROM channel_inbox i WHERE i.request_id = t.request_id AND i.agent_id <> ?)))`;

type RunningRow = Pick<Tables["turns"], "request_id" | "key_id" | "told_chars"> &
  Pick<Tables["sessions"], "agent_id" | "model"> &
  Pick<Tables["chats"], "chat_id"> & { uuid: string | null };

export function createTurns({ read }: Sql): StoredTurns {
  return {
    start: (session, { requestId, kind, keyId, told, now }) =>
      hitting(
        sql(
          `INSERT INTO turns (request_id, session, kind, state, started_at, key_id, told_chars)
           SELECT ?, id, ?, 'running', ?, ?, ? FROM sessions WHERE uuid = ?`,
          requestId,
          kind,
          now,
          keyId,
          told,
          session,
        ),
      ),
    end: (session, state, now) =>
      change(
        sql(
          `UPDATE turns SET state = ?, ended_at = ?
           WHERE state = 'running' AND session = (SELECT id FROM sessions WHERE uuid = ?)`,
          state,
          now,
          session,
        ),
      ),
    mustRun: (requestId) =>
      change(
        // Inserts nothing, or breaks the unit.
        sql(
          `INSERT INTO turn_parts (request_id, text) SELECT '', NULL
           WHERE NOT EXISTS (SELECT 1 FROM turns WHERE state = 'running' AND request_id = ?)`,
          requestId,
        ),
      ),
    cutOff: (requestId, now) =>
      change(
        sql(
          "UPDATE turns SET state = 'interrupted', ended_at = ? WHERE state = 'running' AND request_id = ?",
          now,
          requestId,
        ),
      ),
    addPart: (requestId, text) =>
      change(sql("INSERT INTO turn_parts (request_id, text) VALUES (?, ?)", requestId, text)),
    dropParts: (requestId) => change(sql("DELETE FROM turn_parts WHERE request_id = ?", requestId)),
    async running(agentId) {
      const rows = await read<RunningRow>(
        `SELECT t.request_id, t.key_id, t.told_chars, s.uuid, s.agent_id, s.model, c.chat_id
         FROM turns t LEFT JOIN sessions s ON s.id = t.session LEFT JOIN chats c ON c.id = s.chat
         WHERE t.state = 'running' ${agentId === undefined ? "" : OF_AGENT} ORDER BY t.id`,
        agentId === undefined ? [] : [agentId, agentId],
      );
      return rows.map((row) => ({
        requestId: row.request_id,
        session:
          row.uuid === null
            ? null
            : { uuid: row.uuid, agentId: row.agent_id, chatId: row.chat_id, model: row.model ?? undefined },
        keyId: row.key_id,
        told: row.told_chars ?? 0,
      }));
    },
    parts: async (requestId) =>
      (
        await read<{ text: string }>("SELECT text FROM turn_parts WHERE request_id = ? ORDER BY id", [
          requestId,
        ])
      ).map(({ text }) => text),
  };
}
