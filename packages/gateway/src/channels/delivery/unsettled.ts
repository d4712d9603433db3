import { type Delivery, GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../../lib/clock.ts";
import type { OutboxRow, Store } from "../../store/index.ts";
import { placeOf } from "../place.ts";
import type { ChannelPlace, Content } from "../types.ts";
import type { StoredTarget } from "./sending.ts";

/** Replies that may not have arrived, for the owner to review and send again. */
export function createUnsettled(deps: {
  store: Pick<Store, "outbox" | "forAgent">;
  clock: Clock;
  wake(place: ChannelPlace, chatId: string): void;
}) {
  const { store, clock } = deps;
  const { outbox } = store;

  return {
    /** The newest first. */
    async list(
      agentId: string,
      filter: { state?: Delivery["state"] | undefined; limit: number },
    ): Promise<Delivery[]> {
      return (await outbox.unsettled(agentId, filter)).map(deliveryOf);
    },

    /** Replies of a place with an unknown outcome that were not sent again. */
    unknown: outbox.unknown,

    /**
     * Puts a reply into the outbox again, behind the chat's waiting messages, with the same key: a provider that remembers
     * keys still delivers it only once.
     * @throws {GatewayError} `NOT_FOUND`, `CONFLICT`
     */
    async sendAgain(agentId: string, id: number): Promise<void> {
      const row = await outbox.byId(agentId, id);
      if (!row) throw new GatewayError("NOT_FOUND", "There is no such delivery.");
      const { replaces: _, ...target } = JSON.parse(row.target) as StoredTarget;
      // Whether it can be sent again is decided by what the row is then.
      const copy = { target: JSON.stringify(target), now: clock.now() };
      const [added] = await store.forAgent(agentId).commit(outbox.sendAgain(id, copy));
      if (!added) throw new GatewayError("CONFLICT", refusalOf(row));
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
