import { type Delivery, GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../../lib/clock.ts";
import type { Database, Statement } from "../../store/sqlite/index.ts";
import { placeOf } from "../place.ts";
import type { ChannelPlace, Content } from "../types.ts";
import { type OutboxRow, UNSETTLED } from "./store.ts";

/** Progress messages are of no use once the reply is there. */
const SHOWN = `${UNSETTLED} AND purpose <> 'progress'`;

/** Replies that may not have arrived, for the owner to review and send again. */
export function createUnsettled(deps: {
  db: Database;
  clock: Clock;
  wake(place: ChannelPlace, chatId: string): void;
}) {
  const { db, clock } = deps;

  const sendAgain = (id: number, now: number): Statement[] => [
    {
      sql: `INSERT INTO channel_outbox (agent_id, channel, account, chat_id, inbox, purpose, key, target, content,
              state, attempts, next_at, created_at)
            SELECT agent_id, channel, account, chat_id, inbox, purpose, key, json_remove(target, '$.replaces'),
              content, 'pending', 0, ?, ? FROM channel_outbox WHERE id = ? AND ${SHOWN} AND content IS NOT NULL
            RETURNING id`,
      params: [now, now, id],
    },
    {
      sql: `UPDATE channel_outbox SET content = NULL, reason = ifnull(reason || ' ', '') || 'Sent again.'
            WHERE id = ? AND ${SHOWN} AND content IS NOT NULL`,
      params: [id],
    },
  ];

  return {
    /** The newest first. */
    async list(
      agentId: string,
      { state, limit }: { state?: Delivery["state"] | undefined; limit: number },
    ): Promise<Delivery[]> {
      const rows = await db.slow<OutboxRow>(
        `SELECT * FROM channel_outbox WHERE agent_id = ? AND ${SHOWN} ${state === undefined ? "" : "AND state = ?"}
         ORDER BY id DESC LIMIT ?`,
        state === undefined ? [agentId, limit] : [agentId, state, limit],
      );
      return rows.map(deliveryOf);
    },

    /** Replies of a place with an unknown outcome that were not sent again. */
    unknown({ agentId, channel, account }: ChannelPlace): number {
      return db.all<{ n: number }>(
        `SELECT count(*) AS n FROM channel_outbox INDEXED BY channel_outbox_unsettled
         WHERE agent_id = ? AND ${SHOWN} AND state = 'unknown' AND content IS NOT NULL
           AND channel = ? AND account = ?`,
        [agentId, channel, account],
      )[0]!.n;
    },

    /**
     * Puts a reply into the outbox again, behind the chat's waiting messages, with the same key: a provider that remembers
     * keys still delivers it only once.
     * @throws {GatewayError} `NOT_FOUND`, `CONFLICT`
     */
    async sendAgain(agentId: string, id: number): Promise<void> {
      const [row] = db.all<OutboxRow>("SELECT * FROM channel_outbox WHERE id = ? AND agent_id = ?", [
        id,
        agentId,
      ]);
      if (!row) throw new GatewayError("NOT_FOUND", "There is no such delivery.");
      const [added] = await db.write(...sendAgain(id, clock.now()));
      if (added?.rows.length !== 1) throw new GatewayError("CONFLICT", refusalOf(row));
      deps.wake(placeOf(row), row.chat_id);
    },
  };
}

const refusalOf = ({ state, purpose }: OutboxRow) =>
  (state === "unknown" || state === "failed") && purpose !== "progress"
    ? "It has already been sent again, or its content is no longer stored."
    : "Only a delivery that failed or has an unknown outcome can be sent again.";

function deliveryOf(row: OutboxRow): Delivery {
  const content = row.content === null ? undefined : (JSON.parse(row.content) as Content);
  return {
    id: row.id,
    channel: row.channel as Delivery["channel"],
    account: row.account,
    chatId: row.chat_id,
    state: row.state as Delivery["state"],
    purpose: row.purpose,
    text: content && row.purpose !== "knock" ? textOf(content) : null,
    createdAt: row.created_at,
    settledAt: row.settled_at,
    reason: row.reason,
    sendable: content !== undefined,
  };
}

const textOf = (content: Content) =>
  content.kind === "text" ? content.text : [content.caption, `[${content.name}]`].filter(Boolean).join("\n");
