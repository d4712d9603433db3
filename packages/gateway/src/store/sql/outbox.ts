import { type Change, change, hitting, returning, sql } from "../change.ts";
import type { Statement } from "../statement.ts";
import { given, ofAgent } from "./of-agent.ts";
import { createOutcomes, type Outcomes } from "./outcomes.ts";
import type { Sql } from "./port.ts";
import type { StoredPlace } from "./positions.ts";
import type { Tables } from "./tables.ts";

/** An outgoing message, one row per message of a provider. */
export type OutboxRow = Tables["channel_outbox"];

export interface NewOutboxRow {
  place: StoredPlace;
  chatId: string;
  /** Row of the message that is answered; null if it answers none. */
  inbox: number | null;
  /** The run of a scheduled job whose reply it is. */
  run?: number | undefined;
  purpose: OutboxRow["purpose"];
  key: string;
  /** JSON. */
  target: string;
  /** JSON. */
  content: string;
}

/**
 * Messages to send. The owner of a chat takes them oldest first, one at a time: `pending` → `sending` → settled, or back
 * to `pending`. What moves a row says in which state it has to be, and answers whether it was.
 */
export interface Outbox extends Outcomes {
  /** Adds messages in this order; none for a message that is settled already. Before the change that settles it, then. */
  add(rows: readonly NewOutboxRow[], now: number): Change;
  /** Adds a message that is being sent; answers its row. */
  addSending(row: NewOutboxRow, now: number): Change<OutboxRow>;
  /** The oldest waiting row of a chat. */
  next(place: StoredPlace, chatId: string): Promise<OutboxRow | undefined>;
  /** Chats that have something waiting. */
  waitingChats(): Promise<Array<Pick<OutboxRow, "agent_id" | "channel" | "account" | "chat_id">>>;
  /** Whether any message, of all agents or one, is not settled. */
  hasOpen(agentId?: string): Promise<boolean>;
  /** How many messages of a place are not settled. */
  queued(place: StoredPlace): Promise<number>;
  handshake(place: Omit<StoredPlace, "account">, key: string): Promise<OutboxRow | undefined>;
  /** `pending` → `sending`. */
  sending(id: number, now: number): Change<boolean>;
  /** `sending` → `pending`, because it surely did not go out: as if it had never been marked. */
  unsent(id: number): Change<boolean>;
  /** The progress message that belongs to an inbox row. */
  progressOf(inbox: number): Promise<OutboxRow | undefined>;
  /** True once a reply to an inbox row is in the outbox, sent or not. */
  hasReply(inbox: number): Promise<boolean>;
  /** The progress message can no longer be changed. */
  loseProgress(inbox: number | null): Change;
  /** A progress message that was not sent yet is no longer needed. */
  dropProgress(inbox: number): Change;
  /** What was being sent when the gateway ended, oldest first; of all agents or one. */
  beingSent(agentId?: string): Promise<OutboxRow[]>;
  /** Deletes rows that were settled before `before`. */
  forget(before: number): Change;
}

/** Repeated word for word in a query, this lets SQLite use the small index of open rows. */
const OPEN = "state IN ('pending', 'sending')";

const UNANSWERED =
  "WHERE NOT EXISTS (SELECT 1 FROM channel_inbox WHERE id = ? AND state IN ('done', 'denied'))";

const inserting = (row: NewOutboxRow, state: "pending" | "sending", now: number): Statement => {
  return sql(
    `INSERT INTO channel_outbox (agent_id, channel, account, chat_id, inbox, run, purpose, key, target, content,
       state, attempts, next_at, created_at, sending_at) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
     ${row.inbox === null ? "" : UNANSWERED} ${state === "sending" ? "RETURNING *" : ""}`,
    row.place.agentId,
    row.place.channel,
    row.place.account,
    row.chatId,
    row.inbox,
    row.run ?? null,
    row.purpose,
    row.key,
    row.target,
    row.content,
    state,
    state === "sending" ? 1 : 0,
    now,
    now,
    state === "sending" ? now : null,
    ...(row.inbox === null ? [] : [row.inbox]),
  );
};

export function createOutbox(port: Sql): Outbox {
  const { read } = port;
  return {
    ...createOutcomes(port),
    add: (rows, now) => change(...rows.map((row) => inserting(row, "pending", now))),
    addSending: (row, now) =>
      returning(inserting(row, "sending", now), ([added]) => added as unknown as OutboxRow),
    async next({ agentId, channel, account }, chatId) {
      const [row] = await read<OutboxRow>(
        `SELECT * FROM channel_outbox WHERE agent_id = ? AND channel = ? AND account = ? AND chat_id = ?
           AND ${OPEN} AND state = 'pending' ORDER BY id LIMIT 1`,
        [agentId, channel, account, chatId],
      );
      return row;
    },
    waitingChats: () =>
      read(
        `SELECT DISTINCT agent_id, channel, account, chat_id FROM channel_outbox
         WHERE ${OPEN} AND state = 'pending'`,
      ),
    async hasOpen(agentId) {
      const rows = await read(
        `SELECT 1 FROM channel_outbox WHERE ${OPEN} ${ofAgent(agentId)} LIMIT 1`,
        given(agentId),
      );
      return rows.length > 0;
    },
    async queued({ agentId, channel, account }) {
      const [row] = await read<{ n: number }>(
        `SELECT count(*) AS n FROM channel_outbox
         WHERE agent_id = ? AND channel = ? AND account = ? AND ${OPEN}`,
        [agentId, channel, account],
      );
      return row!.n;
    },
    async handshake({ agentId, channel }, key) {
      const [row] = await read<OutboxRow>(
        `SELECT * FROM channel_outbox WHERE agent_id = ? AND channel = ? AND purpose = 'handshake' AND key = ?`,
        [agentId, channel, key],
      );
      return row;
    },
    sending: (id, now) =>
      hitting(
        sql(
          `UPDATE channel_outbox SET state = 'sending', attempts = attempts + 1, sending_at = ?
           WHERE id = ? AND state = 'pending'`,
          now,
          id,
        ),
      ),
    unsent: (id) =>
      hitting(
        sql(
          "UPDATE channel_outbox SET state = 'pending', next_at = 0 WHERE id = ? AND state = 'sending'",
          id,
        ),
      ),
    async progressOf(inbox) {
      const [row] = await read<OutboxRow>(
        "SELECT * FROM channel_outbox WHERE inbox = ? AND purpose = 'progress'",
        [inbox],
      );
      return row;
    },
    async hasReply(inbox) {
      const rows = await read("SELECT 1 FROM channel_outbox WHERE inbox = ? AND purpose = 'reply' LIMIT 1", [
        inbox,
      ]);
      return rows.length > 0;
    },
    loseProgress: (inbox) =>
      change(
        sql("UPDATE channel_outbox SET provider_id = NULL WHERE inbox = ? AND purpose = 'progress'", inbox),
      ),
    dropProgress: (inbox) =>
      change(
        sql(
          "DELETE FROM channel_outbox WHERE inbox = ? AND purpose = 'progress' AND state = 'pending'",
          inbox,
        ),
      ),
    beingSent: (agentId) =>
      read(
        `SELECT * FROM channel_outbox WHERE ${OPEN} AND state = 'sending'
           ${ofAgent(agentId)} ORDER BY id`,
        given(agentId),
      ),
    forget: (before) => change(sql("DELETE FROM channel_outbox WHERE settled_at < ?", before)),
  };
}
