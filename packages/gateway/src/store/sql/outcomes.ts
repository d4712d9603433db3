import { type Change, change, followed, hitting, returning, sql } from "../change.ts";
import { given, ofAgent } from "./of-agent.ts";
import type { Sql } from "./port.ts";
import type { StoredPlace } from "./positions.ts";
import type { Tables } from "./tables.ts";

type Row = Tables["channel_outbox"];

/** A message of which the provider may yet say something. */
export type UncertainRow = Pick<
  Row,
  "id" | "agent_id" | "channel" | "account" | "chat_id" | "state" | "attempts"
>;

/** What became of messages of the outbox. */
export interface Outcomes {
  /** Open → settled. A row that a receipt settled, or that was given up, stays as it is. */
  settle(
    id: number,
    state: "sent" | "failed" | "unknown",
    now: number,
    result: { providerId?: string | undefined; reason?: string | undefined },
  ): Change<boolean>;
  /**
   * `sending` → `pending` for the next attempt; `content` (JSON) if it changed, `uncertainAt` if the last attempt may have
   * arrived.
   */
  again(
    id: number,
    next: { at: number; reason: string; content?: string; uncertainAt?: number | null },
  ): Change<boolean>;
  /**
   * After a crash it is unknown whether these went out. Their chat's owner decides, who knows what the provider allows;
   * direct messages, whose caller is gone, and progress messages, which are no longer useful, end here.
   */
  leaveUncertain(now: number, reason: string, agentId?: string): Change;
  /** Messages with the key that may have arrived, or may do so at this moment. */
  uncertain(place: StoredPlace, key: string): Promise<UncertainRow[]>;
  /** Messages that the provider accepted under this id. */
  accepted(place: StoredPlace, providerId: string): Promise<UncertainRow[]>;
  /** The provider has the message with the key, whose outcome was not known. */
  arrived(place: StoredPlace, key: string, providerId: string, now: number): Change;
  /** The provider could not deliver the message with the key, whose outcome was unknown. */
  refused(place: StoredPlace, key: string, providerId: string, now: number, reason: string): Change;
  /** The provider could not deliver a message that it had accepted. */
  bounced(place: StoredPlace, providerId: string, reason: string): Change;
  /** Gives up messages that were not sent yet: those of an agent, or those created before a time. */
  abandon(which: { agentId: string } | { before: number }, now: number, reason: string): Change;
  /** Messages that may not have arrived, newest first. */
  unsettled(agentId: string, filter: { state?: Row["state"] | undefined; limit: number }): Promise<Row[]>;
  /** How many messages of a place have an unknown outcome and were not sent again. */
  unknown(place: StoredPlace): Promise<number>;
  byId(agentId: string, id: number): Promise<Row | undefined>;
  /** Adds a copy of a message that may not have arrived, with the same key; answers whether it could be copied. */
  sendAgain(id: number, copy: { target: string; now: number }): Change<boolean>;
  /** When the newest message that a place has sent was settled. */
  lastSentAt(place: StoredPlace): Promise<number | undefined>;
}

/** Repeated word for word in a query, these let SQLite use the small indexes of such rows. */
const OPEN = "state IN ('pending', 'sending')";
const UNSETTLED = "state IN ('unknown', 'failed')";
/** Progress messages are of no use once the reply is there. */
const SHOWN = `${UNSETTLED} AND purpose <> 'progress'`;

const SELECT = "SELECT id, agent_id, channel, account, chat_id, state, attempts FROM channel_outbox";
const WITH_KEY = "agent_id = ? AND channel = ? AND account = ? AND key = ?";
const UNKNOWN = `${WITH_KEY} AND ${UNSETTLED} AND state = 'unknown'`;
const UNDER_WAY = `${WITH_KEY} AND ${OPEN} AND (state = 'sending' OR uncertain_at IS NOT NULL)`;

export function createOutcomes({ read, slow }: Sql): Outcomes {
  return {
    settle: (id, state, now, { providerId, reason }) =>
      hitting(
        sql(
          // Content that may not have arrived is kept, so that the owner can review it and send it again.
          `UPDATE channel_outbox SET state = ?, settled_at = ?, provider_id = ?, reason = ?
             ${state === "sent" ? ", content = NULL" : ""} WHERE id = ? AND ${OPEN}`,
          state,
          now,
          providerId ?? null,
          reason ?? null,
          id,
        ),
      ),
    again: (id, { at, reason, content, uncertainAt }) =>
      hitting(
        sql(
          `UPDATE channel_outbox SET state = 'pending', next_at = ?, reason = ?, content = coalesce(?, content),
             uncertain_at = coalesce(uncertain_at, ?) WHERE id = ? AND state = 'sending'`,
          at,
          reason,
          content ?? null,
          uncertainAt ?? null,
          id,
        ),
      ),
    leaveUncertain(now, reason, agentId) {
      const which = ofAgent(agentId);
      return change(
        sql(
          `UPDATE channel_outbox SET state = 'unknown', settled_at = ?, reason = ?
           WHERE ${OPEN} AND state = 'sending' AND purpose IN ('direct', 'progress') ${which}`,
          now,
          reason,
          ...given(agentId),
        ),
        sql(
          `UPDATE channel_outbox SET state = 'pending', next_at = 0, reason = ?,
             uncertain_at = coalesce(uncertain_at, sending_at) WHERE ${OPEN} AND state = 'sending' ${which}`,
          reason,
          ...given(agentId),
        ),
      );
    },
    uncertain({ agentId, channel, account }, key) {
      const which = [agentId, channel, account, key];
      return read(`${SELECT} WHERE ${UNKNOWN} UNION ALL ${SELECT} WHERE ${UNDER_WAY}`, [...which, ...which]);
    },
    accepted: ({ agentId, channel, account }, providerId) =>
      read(
        `${SELECT} WHERE agent_id = ? AND provider_id = ? AND channel = ? AND account = ? AND state = 'sent'`,
        [agentId, providerId, channel, account],
      ),
    arrived: ({ agentId, channel, account }, key, providerId, now) =>
      change(
        ...[UNKNOWN, UNDER_WAY].map((which) =>
          sql(
            `UPDATE channel_outbox SET state = 'sent', settled_at = ?, provider_id = ?, reason = NULL, content = NULL
             WHERE ${which}`,
            now,
            providerId,
            agentId,
            channel,
            account,
            key,
          ),
        ),
      ),
    refused: ({ agentId, channel, account }, key, providerId, now, reason) =>
      change(
        sql(
          `UPDATE channel_outbox SET state = 'failed', settled_at = ?, provider_id = ?, reason = ? WHERE ${UNKNOWN}`,
          now,
          providerId,
          reason,
          agentId,
          channel,
          account,
          key,
        ),
      ),
    bounced: ({ agentId, channel, account }, providerId, reason) =>
      change(
        sql(
          `UPDATE channel_outbox SET state = 'failed', reason = ?
           WHERE agent_id = ? AND provider_id = ? AND channel = ? AND account = ? AND state = 'sent'`,
          reason,
          agentId,
          providerId,
          channel,
          account,
        ),
      ),
    abandon(which, now, reason) {
      const [condition, value] =
        "agentId" in which
          ? (["agent_id = ?", which.agentId] as const)
          : (["created_at < ?", which.before] as const);
      return change(
        sql(
          `UPDATE channel_outbox SET state = 'failed', settled_at = ?, reason = ?
           WHERE ${OPEN} AND state = 'pending' AND ${condition}`,
          now,
          reason,
          value,
        ),
      );
    },
    unsettled: (agentId, { state, limit }) =>
      slow(
        `SELECT * FROM channel_outbox WHERE agent_id = ? AND ${SHOWN} ${state === undefined ? "" : "AND state = ?"}
         ORDER BY id DESC LIMIT ?`,
        state === undefined ? [agentId, limit] : [agentId, state, limit],
      ),
    async unknown({ agentId, channel, account }) {
      const [row] = await read<{ n: number }>(
        `SELECT count(*) AS n FROM channel_outbox
         WHERE agent_id = ? AND ${SHOWN} AND state = 'unknown' AND content IS NOT NULL
           AND channel = ? AND account = ?`,
        [agentId, channel, account],
      );
      return row!.n;
    },
    async byId(agentId, id) {
      const [row] = await read<Row>("SELECT * FROM channel_outbox WHERE id = ? AND agent_id = ?", [
        id,
        agentId,
      ]);
      return row;
    },
    sendAgain: (id, { target, now }) =>
      followed(
        returning(
          sql(
            `INSERT INTO channel_outbox (agent_id, channel, account, chat_id, inbox, run, purpose, key, target, content,
               state, attempts, next_at, created_at)
             SELECT agent_id, channel, account, chat_id, inbox, run, purpose, key, ?, content, 'pending', 0, ?, ?
             FROM channel_outbox WHERE id = ? AND ${SHOWN} AND content IS NOT NULL RETURNING id`,
            target,
            now,
            now,
            id,
          ),
          (rows) => rows.length > 0,
        ),
        change(
          sql(
            `UPDATE channel_outbox SET content = NULL, reason = coalesce(reason || ' ', '') || 'Sent again.'
             WHERE id = ? AND ${SHOWN} AND content IS NOT NULL`,
            id,
          ),
        ),
      ),
    async lastSentAt({ agentId, channel, account }) {
      // Only the channel's newest rows are checked, which the index returns without reading all of them.
      const [row] = await read<{ at: number | null }>(
        `SELECT settled_at AS at FROM channel_outbox
         WHERE agent_id = ? AND channel = ? AND account = ? AND state = 'sent' ORDER BY id DESC LIMIT 1`,
        [agentId, channel, account],
      );
      return row?.at ?? undefined;
    },
  };
}
