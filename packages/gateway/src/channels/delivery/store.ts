import { randomUUID } from "node:crypto";
import type { Database, Statement, Tables } from "../../store/sqlite/index.ts";
import type { ChannelPlace, Content, Target } from "../types.ts";

export type OutboxRow = Tables["channel_outbox"];

/** Destination as stored in the row. */
export interface StoredTarget extends Target {
  /** True if this text replaces the progress message of the same turn, if any. */
  replaces?: true;
  /** File of a handshake that is complete when this is sent. */
  handshake?: string;
}

/** Messages to send, in order. */
export interface Sending {
  place: ChannelPlace;
  chatId: string;
  /** Row of the message that is answered; null if it answers none. */
  inbox: number | null;
  purpose: OutboxRow["purpose"];
  target: StoredTarget;
  contents: readonly Content[];
  /** Default `pending`. */
  state?: "pending" | "sending";
  /** Default: a new UUID for each. */
  key?: string;
}

/** Repeated word for word in a query, this lets SQLite use the small index of open rows. */
const OPEN = "state IN ('pending', 'sending')";
/** Likewise, for the small index of rows that may not have arrived. */
export const UNSETTLED = "state IN ('unknown', 'failed')";

const UNANSWERED =
  "WHERE NOT EXISTS (SELECT 1 FROM channel_inbox WHERE id = ? AND state IN ('done', 'denied'))";

/** Reads and statements of the outbox. */
export function createOutboxStore(db: Database) {
  return {
    add({ place, chatId, inbox, purpose, target, contents, state, key }: Sending, now: number): Statement[] {
      return contents.map((content, index) => {
        // Only the first replaces another message, and only the last completes a handshake.
        const { replaces, handshake, ...rest } = target;
        const own = {
          ...rest,
          ...(index === 0 ? replaces && { replaces } : { part: index }),
          ...(index === contents.length - 1 && handshake !== undefined && { handshake }),
        };
        return {
          // The reply may be on its way to the disk while a progress message is being added.
          sql: `INSERT INTO channel_outbox (agent_id, channel, account, chat_id, inbox, purpose, key, target, content,
                  state, attempts, next_at, created_at, sending_at) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
                ${purpose === "progress" ? UNANSWERED : ""} RETURNING id`,
          params: [
            place.agentId,
            place.channel,
            place.account,
            chatId,
            inbox,
            purpose,
            key ?? randomUUID(),
            JSON.stringify(own),
            JSON.stringify(content),
            state ?? "pending",
            state === "sending" ? 1 : 0,
            now,
            now,
            state === "sending" ? now : null,
            ...(purpose === "progress" ? [inbox] : []),
          ],
        };
      });
    },
    /** The oldest waiting row of a chat. */
    next(place: ChannelPlace, chatId: string): OutboxRow | undefined {
      return db.all<OutboxRow>(
        `SELECT * FROM channel_outbox WHERE agent_id = ? AND channel = ? AND account = ? AND chat_id = ?
           AND ${OPEN} AND state = 'pending' ORDER BY id LIMIT 1`,
        [place.agentId, place.channel, place.account, chatId],
      )[0];
    },
    byId(id: number): OutboxRow | undefined {
      return db.all<OutboxRow>("SELECT * FROM channel_outbox WHERE id = ?", [id])[0];
    },
    /** Chats that have something waiting. */
    waiting(): Array<Pick<OutboxRow, "agent_id" | "channel" | "account" | "chat_id">> {
      return db.all(
        `SELECT DISTINCT agent_id, channel, account, chat_id FROM channel_outbox
         WHERE ${OPEN} AND state = 'pending'`,
      );
    },
    queued({ agentId, channel, account }: ChannelPlace): number {
      return db.all<{ n: number }>(
        `SELECT count(*) AS n FROM channel_outbox INDEXED BY channel_outbox_open
         WHERE agent_id = ? AND channel = ? AND account = ? AND ${OPEN}`,
        [agentId, channel, account],
      )[0]!.n;
    },
    hasHandshake(place: ChannelPlace, key: string): OutboxRow | undefined {
      return db.all<OutboxRow>(
        `SELECT * FROM channel_outbox WHERE agent_id = ? AND channel = ? AND purpose = 'handshake' AND key = ?`,
        [place.agentId, place.channel, key],
      )[0];
    },
    sending(id: number, now: number): Statement {
      return {
        sql: `UPDATE channel_outbox SET state = 'sending', attempts = attempts + 1, sending_at = ?
              WHERE id = ? AND state = 'pending'`,
        params: [now, id],
      };
    },
    /** Back to waiting for the next attempt; `content` if it changed, `uncertainAt` if the last attempt may have arrived. */
    again(
      id: number,
      nextAt: number,
      reason: string,
      { content, uncertainAt }: { content?: Content; uncertainAt?: number | null } = {},
    ): Statement {
      return {
        sql: `UPDATE channel_outbox SET state = 'pending', next_at = ?, reason = ?, content = ifnull(?, content),
                uncertain_at = ifnull(uncertain_at, ?) WHERE id = ? AND state <> 'sent'`,
        params: [nextAt, reason, content ? JSON.stringify(content) : null, uncertainAt ?? null, id],
      };
    },
    settle(
      id: number,
      state: "sent" | "failed" | "unknown",
      now: number,
      { providerId, reason }: { providerId?: string | undefined; reason?: string | undefined },
    ): Statement {
      return {
        // Content that may not have arrived is kept, so that the owner can review it and send it again. A receipt may
        // have come before the answer, or instead of it.
        sql: `UPDATE channel_outbox SET state = ?, settled_at = ?, provider_id = ?, reason = ?,
                content = CASE ? WHEN 'sent' THEN NULL ELSE content END WHERE id = ? AND state <> 'sent'`,
        params: [state, now, providerId ?? null, reason ?? null, state, id],
      };
    },
    /** The progress message of the turn of an inbox row. */
    progressOf(inbox: number | null): OutboxRow | undefined {
      if (inbox === null) return undefined;
      return db.all<OutboxRow>("SELECT * FROM channel_outbox WHERE inbox = ? AND purpose = 'progress'", [
        inbox,
      ])[0];
    },
    /** The progress message can no longer be changed. */
    loseProgress(inbox: number | null): Statement {
      return {
        sql: "UPDATE channel_outbox SET provider_id = NULL WHERE inbox = ? AND purpose = 'progress'",
        params: [inbox],
      };
    },
    /** A progress message that was not sent yet is no longer needed. */
    dropProgress(inbox: number): Statement {
      return {
        sql: "DELETE FROM channel_outbox WHERE inbox = ? AND purpose = 'progress' AND state = 'pending'",
        params: [inbox],
      };
    },
    /** What was being sent when the gateway ended. */
    open(): OutboxRow[] {
      return db.all<OutboxRow>(
        `SELECT * FROM channel_outbox WHERE ${OPEN} AND state = 'sending' ORDER BY id`,
      );
    },
    /** It surely did not go out: as if it had never been marked. */
    unsent(id: number): Statement {
      return {
        sql: "UPDATE channel_outbox SET state = 'pending', next_at = 0 WHERE id = ? AND state = 'sending'",
        params: [id],
      };
    },
    /**
     * After a crash it is unknown whether these went out. Their lane decides, because it knows what the provider allows;
     * direct messages, whose caller is gone, and progress messages, which are no longer useful, end here.
     */
    uncertain(now: number): Statement[] {
      const reason = "The gateway stopped while this was being sent.";
      return [
        {
          sql: `UPDATE channel_outbox SET state = 'unknown', settled_at = ?, reason = ?
                WHERE ${OPEN} AND state = 'sending' AND purpose IN ('direct', 'progress')`,
          params: [now, reason],
        },
        {
          sql: `UPDATE channel_outbox SET state = 'pending', next_at = 0, reason = ?,
                  uncertain_at = ifnull(uncertain_at, sending_at)
                WHERE ${OPEN} AND state = 'sending'`,
          params: [reason],
        },
      ];
    },
    /** Rows with a key that may have arrived, or may do so at this moment. */
    uncertainWith({ agentId, channel, account }: ChannelPlace, key: string): OutboxRow[] {
      const own =
        "SELECT * FROM channel_outbox WHERE agent_id = ? AND channel = ? AND account = ? AND key = ?";
      const which = [agentId, channel, account, key];
      return db.all<OutboxRow>(
        `${own} AND ${UNSETTLED} AND state = 'unknown'
         UNION ALL ${own} AND ${OPEN} AND (state = 'sending' OR uncertain_at IS NOT NULL)`,
        [...which, ...which],
      );
    },
    bounced(place: ChannelPlace, providerId: string, reason: string): Statement {
      return {
        sql: `UPDATE channel_outbox SET state = 'failed', reason = ?
              WHERE agent_id = ? AND provider_id = ? AND channel = ? AND account = ?`,
        params: [reason, place.agentId, providerId, place.channel, place.account],
      };
    },
    /** Gives up messages that were not sent yet: those of an agent, or those created before a time. */
    abandon(which: { agentId: string } | { before: number }, now: number, reason: string): Statement {
      const [condition, value] =
        "agentId" in which ? ["agent_id = ?", which.agentId] : ["created_at < ?", which.before];
      return {
        sql: `UPDATE channel_outbox SET state = 'failed', settled_at = ?, reason = ?
              WHERE ${OPEN} AND state = 'pending' AND ${condition}`,
        params: [now, reason, value as string | number],
      };
    },
    /** Deletes rows that were settled before `before`. */
    forget(before: number): Statement {
      return { sql: "DELETE FROM channel_outbox WHERE settled_at < ?", params: [before] };
    },
  };
}
export type OutboxStore = ReturnType<typeof createOutboxStore>;
