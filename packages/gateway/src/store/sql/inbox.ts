import { type Change, change, hitting, returning, sql } from "../change.ts";
import { given, ofAgent } from "./of-agent.ts";
import type { Sql } from "./port.ts";
import type { StoredPlace } from "./positions.ts";
import type { Tables } from "./tables.ts";

/** A message of a channel; each of the provider's events is stored once. */
export type InboxRow = Tables["channel_inbox"];

export interface NewInboxRow {
  place: StoredPlace;
  eventId: string;
  chatId: string;
  messageId: string | undefined;
  messageKey: string | undefined;
  senderId: string;
  /** The group that its chat belongs to; empty for a direct one. */
  groupId?: string | undefined;
  /** JSON. */
  message: string;
  state: "waiting" | "command";
}

/** A chat of a channel of an agent, whichever account its messages came to. */
export type StoredChat = Pick<InboxRow, "agent_id" | "channel" | "chat_id">;

/**
 * Messages that came in. The owner of a chat takes them oldest first: `waiting` or `command` → (`turn` →) settled. What
 * moves a row says in which state it has to be.
 */
export interface Inbox {
  /** Stores a message, unless its event or the message itself is known; answers its id if it was stored. */
  add(row: NewInboxRow, now: number): Change<number | undefined>;
  byId(id: number): Promise<InboxRow | undefined>;
  /** The oldest messages of a chat that wait for their turn. */
  waiting(chat: StoredChat, limit: number): Promise<InboxRow[]>;
  /** Chats whose messages wait for their turn. */
  waitingChats(): Promise<StoredChat[]>;
  /** Commands that wait for nothing. */
  commands(): Promise<Array<Pick<InboxRow, "id">>>;
  /** Messages that a turn answers. */
  ofTurn(requestId: string): Promise<InboxRow[]>;
  /** Whether any message, of all agents or one, is not settled. */
  hasOpen(agentId?: string): Promise<boolean>;
  /** How many messages of a place are not settled. */
  queued(place: StoredPlace): Promise<number>;
  /** When the newest message of a place came. */
  lastReceivedAt(place: StoredPlace): Promise<number | undefined>;
  /** Who last wrote in a chat, and the group that it belongs to, if that was recorded: empty for a direct one. */
  lastOf(chat: StoredChat): Promise<Pick<InboxRow, "account" | "sender_id" | "group_id"> | undefined>;
  /** True while history has the message. */
  hasUserMessage(id: number): Promise<boolean>;
  /**
   * `waiting` → `turn`: the messages are handed to the agent; `userMessage` is the id of what history keeps of them. One
   * that no longer waits makes the whole commit fail.
   */
  startTurn(
    ids: readonly number[],
    turn: { requestId: string; sessionId: string; now: number; userMessage: number | undefined },
  ): Change;
  /** `turn` → `waiting`, as if their turn had not begun. */
  putBack(ids: readonly number[]): Change;
  /** The same for every message, or those of an agent, once each turn that a crash cut off is closed. */
  putBackAll(agentId?: string): Change;
  /** Open → settled; answers whether any was open. */
  settle(ids: readonly number[], state: "done" | "denied", now: number, note: string | null): Change<boolean>;
  /** Changes nothing, but succeeds only if there is room to write. */
  touch(id: number): Change;
  /** Settles messages that no turn will answer: those of an agent, or those received before a time. */
  abandon(which: { agentId: string } | { before: number }, now: number, note: string): Change;
  /** Deletes rows that were settled before a time, and denied ones that were before another. */
  forget(before: number, deniedBefore: number): Change;
}

/** Repeated word for word in a query, this lets SQLite use the small indexes of open rows. */
const OPEN = "state IN ('waiting', 'command', 'turn')";

const marks = (values: readonly unknown[]) => values.map(() => "?").join(", ");

export function createInbox({ read }: Sql): Inbox {
  return {
    add: (row, now) =>
      returning(
        sql(
          `INSERT INTO channel_inbox (agent_id, channel, account, event_id, chat_id, message_id, message_key,
             sender_id, group_id, message, state, received_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id`,
          row.place.agentId,
          row.place.channel,
          row.place.account,
          row.eventId,
          row.chatId,
          row.messageId ?? null,
          row.messageKey ?? null,
          row.senderId,
          row.groupId ?? null,
          row.message,
          row.state,
          now,
        ),
        ([added]) => (added ? Number(added.id) : undefined),
      ),
    async byId(id) {
      const [row] = await read<InboxRow>("SELECT * FROM channel_inbox WHERE id = ?", [id]);
      return row;
    },
    waiting: ({ agent_id, channel, chat_id }, limit) =>
      read(
        `SELECT * FROM channel_inbox WHERE agent_id = ? AND channel = ? AND chat_id = ?
           AND ${OPEN} AND state = 'waiting' ORDER BY id LIMIT ?`,
        [agent_id, channel, chat_id, limit],
      ),
    waitingChats: () =>
      read(
        `SELECT DISTINCT agent_id, channel, chat_id FROM channel_inbox WHERE ${OPEN} AND state = 'waiting'`,
      ),
    commands: () => read(`SELECT id FROM channel_inbox WHERE ${OPEN} AND state = 'command' ORDER BY id`),
    ofTurn: (requestId) =>
      read("SELECT * FROM channel_inbox WHERE request_id = ? AND state = 'turn' ORDER BY id", [requestId]),
    async hasOpen(agentId) {
      const rows = await read(
        `SELECT 1 FROM channel_inbox WHERE ${OPEN} ${ofAgent(agentId)} LIMIT 1`,
        given(agentId),
      );
      return rows.length > 0;
    },
    async queued({ agentId, channel, account }) {
      const [row] = await read<{ n: number }>(
        `SELECT count(*) AS n FROM channel_inbox
         WHERE agent_id = ? AND channel = ? AND account = ? AND ${OPEN}`,
        [agentId, channel, account],
      );
      return row!.n;
    },
    async lastReceivedAt({ agentId, channel, account }) {
      // Only the channel's newest rows are checked, which the index returns without reading all of them.
      const [row] = await read<{ at: number }>(
        `SELECT received_at AS at FROM channel_inbox
         WHERE agent_id = ? AND channel = ? AND account = ? ORDER BY id DESC LIMIT 1`,
        [agentId, channel, account],
      );
      return row?.at;
    },
    async lastOf({ agent_id, channel, chat_id }) {
      const [row] = await read<Pick<InboxRow, "account" | "sender_id" | "group_id">>(
        `SELECT account, sender_id, group_id FROM channel_inbox WHERE agent_id = ? AND channel = ? AND chat_id = ?
         ORDER BY id DESC LIMIT 1`,
        [agent_id, channel, chat_id],
      );
      return row;
    },
    hasUserMessage: async (id) => (await read("SELECT 1 FROM messages WHERE id = ?", [id])).length === 1,
    startTurn: (ids, { requestId, sessionId, now, userMessage }) =>
      change(
        sql(
          // No state may be null: with a message that no longer waits, no part of the unit takes effect.
          `UPDATE channel_inbox SET state = CASE WHEN state = 'waiting' THEN 'turn' END,
             request_id = ?, session = ?, started_at = ?,
             user_message = ?
           WHERE id IN (${marks(ids)})`,
          requestId,
          sessionId,
          now,
          userMessage ?? null,
          ...ids,
        ),
      ),
    putBack: (ids) =>
      change(
        sql(
          `UPDATE channel_inbox SET state = 'waiting' WHERE state = 'turn' AND id IN (${marks(ids)})`,
          ...ids,
        ),
      ),
    putBackAll: (agentId) =>
      change(
        sql(
          `UPDATE channel_inbox SET state = 'waiting' WHERE ${OPEN} AND state = 'turn' ${ofAgent(agentId)}`,
          ...given(agentId),
        ),
      ),
    settle: (ids, state, now, note) =>
      hitting(
        sql(
          `UPDATE channel_inbox SET state = ?, settled_at = ?, note = ?, message = NULL
           WHERE id IN (${marks(ids)}) AND ${OPEN}`,
          state,
          now,
          note,
          ...ids,
        ),
      ),
    touch: (id) => change(sql("UPDATE channel_inbox SET note = note WHERE id = ?", id)),
    abandon(which, now, note) {
      const [condition, value] =
        "agentId" in which
          ? (["agent_id = ?", which.agentId] as const)
          : (["received_at < ?", which.before] as const);
      return change(
        sql(
          `UPDATE channel_inbox SET state = 'done', settled_at = ?, note = ?, message = NULL
           WHERE ${OPEN} AND state IN ('waiting', 'command') AND ${condition}`,
          now,
          note,
          value,
        ),
      );
    },
    forget: (before, deniedBefore) =>
      change(
        sql("DELETE FROM channel_inbox WHERE settled_at < ?", before),
        sql("DELETE FROM channel_inbox WHERE settled_at < ? AND state = 'denied'", deniedBefore),
      ),
  };
}
