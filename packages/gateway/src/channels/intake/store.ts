import type { Database, Statement, Tables } from "../../store/sqlite/index.ts";
import type { ChannelPlace, InboundMessage } from "../types.ts";

export type InboxRow = Tables["channel_inbox"];

/** Repeated word for word in a query, this lets SQLite use the small index of open rows. */
const OPEN = "state IN ('waiting', 'command', 'turn')";

const marks = (count: number) => Array.from({ length: count }, () => "?").join(", ");

/** Reads and statements of the inbox. */
export function createInboxStore(db: Database) {
  return {
    /** Stores a message, unless its event or the message itself is known. */
    add(place: ChannelPlace, message: InboundMessage, state: "waiting" | "command", now: number): Statement {
      return {
        sql: `INSERT OR IGNORE INTO channel_inbox
                (agent_id, channel, account, event_id, chat_id, message_id, message_key, sender_id, message, state,
                 received_at)
              VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        params: [
          place.agentId,
          place.channel,
          place.account,
          message.eventId,
          message.chatId,
          message.messageId ?? null,
          message.messageKey ?? null,
          message.senderId,
          JSON.stringify(message),
          state,
          now,
        ],
      };
    },
    byId(id: number): InboxRow | undefined {
      return db.all<InboxRow>("SELECT * FROM channel_inbox WHERE id = ?", [id])[0];
    },
    /** The oldest messages of a chat that wait for their turn. */
    waiting(agentId: string, channel: string, chatId: string, limit: number): InboxRow[] {
      return db.all<InboxRow>(
        `SELECT * FROM channel_inbox WHERE agent_id = ? AND channel = ? AND chat_id = ?
           AND ${OPEN} AND state = 'waiting' ORDER BY id LIMIT ?`,
        [agentId, channel, chatId, limit],
      );
    },
    openChats(): Array<Pick<InboxRow, "agent_id" | "channel" | "chat_id">> {
      return db.all(
        `SELECT DISTINCT agent_id, channel, chat_id FROM channel_inbox WHERE ${OPEN} AND state = 'waiting'`,
      );
    },
    openCommands(): InboxRow[] {
      return db.all<InboxRow>(`SELECT * FROM channel_inbox WHERE ${OPEN} AND state = 'command' ORDER BY id`);
    },
    byRequest(requestId: string): InboxRow[] {
      return db.all<InboxRow>(
        "SELECT * FROM channel_inbox WHERE request_id = ? AND state = 'turn' ORDER BY id",
        [requestId],
      );
    },
    /** Open messages of a place, for health. */
    queued({ agentId, channel, account }: ChannelPlace): number {
      return db.all<{ n: number }>(
        `SELECT count(*) AS n FROM channel_inbox INDEXED BY channel_inbox_open
         WHERE agent_id = ? AND channel = ? AND account = ? AND ${OPEN}`,
        [agentId, channel, account],
      )[0]!.n;
    },
    /**
     * Marks the messages as handed to the agent. Must follow the statement for the user message, which is then the newest,
     * unless an earlier run stored it: `again`.
     */
    startTurn(
      ids: readonly number[],
      turn: { requestId: string; sessionId: string; now: number; again: number | undefined },
    ): Statement {
      return {
        sql: `UPDATE channel_inbox SET state = 'turn', request_id = ?, session = ?, started_at = ?, user_message =
                ifnull(?, (SELECT max(id) FROM messages))
              WHERE state = 'waiting' AND id IN (${marks(ids.length)})`,
        params: [turn.requestId, turn.sessionId, turn.now, turn.again ?? null, ...ids],
      };
    },
    /** True while history has the message. */
    hasMessage(id: number): boolean {
      return db.all("SELECT 1 FROM messages WHERE id = ?", [id]).length === 1;
    },
    /** Puts them back to waiting, as if their turn had not begun. */
    putBack(ids: readonly number[]): Statement {
      return {
        sql: `UPDATE channel_inbox SET state = 'waiting' WHERE state = 'turn' AND id IN (${marks(ids.length)})`,
        params: ids,
      };
    },
    settle(
      ids: readonly number[],
      state: "done" | "denied",
      now: number,
      note: string | null = null,
    ): Statement {
      return {
        sql: `UPDATE channel_inbox SET state = ?, settled_at = ?, note = ?, message = NULL
              WHERE id IN (${marks(ids.length)})`,
        params: [state, now, note, ...ids],
      };
    },
    /** Changes nothing, but succeeds only if there is room to write. */
    touch(id: number): Statement {
      return { sql: "UPDATE channel_inbox SET note = note WHERE id = ?", params: [id] };
    },
    /** Once the sessions room has closed what a crash cut off, a message that still claims a turn has none. */
    putBackAll(): Statement {
      return {
        sql: `UPDATE channel_inbox SET state = 'waiting' WHERE ${OPEN} AND state = 'turn'`,
        params: [],
      };
    },
    /** Settles messages that no turn will answer: those of an agent, or those received before a time. */
    abandon(which: { agentId: string } | { before: number }, now: number, note: string): Statement {
      const [condition, value] =
        "agentId" in which ? ["agent_id = ?", which.agentId] : ["received_at < ?", which.before];
      return {
        sql: `UPDATE channel_inbox SET state = 'done', settled_at = ?, note = ?, message = NULL
              WHERE ${OPEN} AND state IN ('waiting', 'command') AND ${condition}`,
        params: [now, note, value as string | number],
      };
    },
    forget(before: number, deniedBefore: number): Statement[] {
      return [
        { sql: "DELETE FROM channel_inbox WHERE settled_at < ?", params: [before] },
        {
          sql: "DELETE FROM channel_inbox WHERE settled_at < ? AND state = 'denied'",
          params: [deniedBefore],
        },
      ];
    },
  };
}
export type InboxStore = ReturnType<typeof createInboxStore>;
