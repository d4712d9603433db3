import type { Sql } from "./port.ts";
import type { Tables } from "./tables.ts";

/** A message that came in, without its words. */
export type TracedInbox = Omit<Tables["channel_inbox"], "message" | "message_key">;
/** A message that went out, without its words. */
export type TracedOutbox = Omit<Tables["channel_outbox"], "target" | "content" | "uncertain_at">;
export type TracedTurn = Pick<Tables["turns"], "state" | "started_at" | "ended_at">;

/** What happened to messages of channels. */
export interface Traces {
  /**
   * The message that came in with an id: the gateway's own number or request id first, then an id of its provider (of the
   * event, the message, or a reply to it). Those can repeat: the latest message wins.
   */
  received(
    agentId: string,
    which: { id: string; number: number | undefined; channel: string | undefined },
  ): Promise<TracedInbox | undefined>;
  /** The latest message that went out with an id of its provider. */
  sent(
    agentId: string,
    which: { id: string; channel: string | undefined },
  ): Promise<TracedOutbox | undefined>;
  turn(requestId: string): Promise<TracedTurn | undefined>;
  /** What went out in reply, oldest first. Messages that were joined in one turn share its replies. */
  replies(row: Pick<TracedInbox, "id" | "request_id">): Promise<TracedOutbox[]>;
}

const INBOX =
  "id, agent_id, channel, account, event_id, chat_id, message_id, sender_id, state, request_id, session, " +
  "user_message, received_at, started_at, settled_at, note";
const OUTBOX =
  "id, agent_id, channel, account, chat_id, inbox, purpose, key, state, attempts, next_at, created_at, " +
  "sending_at, settled_at, provider_id, reason";

export function createTraces({ slow }: Sql): Traces {
  return {
    async received(agentId, { id, number, channel }) {
      const ofChannel = channel === undefined ? "" : "AND channel = ?";
      const own = number ?? null;
      const [row] = await slow<TracedInbox>(
        `SELECT ${INBOX} FROM channel_inbox WHERE agent_id = ? ${ofChannel} AND id IN (
           SELECT id FROM channel_inbox WHERE request_id = ?
           UNION SELECT id FROM channel_inbox WHERE id = ?
           UNION SELECT id FROM channel_inbox WHERE agent_id = ? AND (event_id = ? OR message_id = ?)
           UNION SELECT inbox FROM channel_outbox WHERE agent_id = ? AND provider_id = ?)
         ORDER BY CASE WHEN request_id = ? THEN 0 WHEN id = ? THEN 1 ELSE 2 END, id DESC LIMIT 1`,
        [
          agentId,
          ...(channel === undefined ? [] : [channel]),
          id,
          own,
          ...[agentId, id, id],
          ...[agentId, id],
          ...[id, own],
        ],
      );
      return row;
    },
    async sent(agentId, { id, channel }) {
      const ofChannel = channel === undefined ? "" : "AND channel = ?";
      const [row] = await slow<TracedOutbox>(
        `SELECT ${OUTBOX} FROM channel_outbox WHERE agent_id = ? AND provider_id = ? ${ofChannel}
         ORDER BY id DESC LIMIT 1`,
        [agentId, id, ...(channel === undefined ? [] : [channel])],
      );
      return row;
    },
    async turn(requestId) {
      const [row] = await slow<TracedTurn>(
        "SELECT state, started_at, ended_at FROM turns WHERE request_id = ? ORDER BY id DESC LIMIT 1",
        [requestId],
      );
      return row;
    },
    replies: ({ id, request_id }) =>
      slow(
        `SELECT ${OUTBOX} FROM channel_outbox WHERE inbox = ?
           OR inbox IN (SELECT id FROM channel_inbox WHERE request_id = ?) ORDER BY id`,
        [id, request_id],
      ),
  };
}
