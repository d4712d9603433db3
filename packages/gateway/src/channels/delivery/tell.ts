import type { Change, OutboxRow } from "../../store/index.ts";

/** What the outbox needs from the feed. */
export interface FeedPort {
  /** Tells what became of a message, in the unit that makes it true. */
  event(told: {
    type: "delivery.failed" | "delivery.unknown";
    agentId: string;
    data: Readonly<Record<string, unknown>>;
    while: { delivery: number; states: ReadonlyArray<"pending" | "sending" | "sent" | "unknown"> };
  }): Change;
}

type Told = Pick<OutboxRow, "id" | "agent_id" | "channel" | "account" | "chat_id" | "attempts">;

export const OPEN = ["pending", "sending"] as const;

/** Tells that a message did not arrive, or may not have, if its row is in one of the states when the unit comes to it. */
export const tellDelivery = (
  feed: FeedPort,
  status: "failed" | "unknown",
  { id, agent_id, channel, account, chat_id, attempts }: Told,
  states: Parameters<FeedPort["event"]>[0]["while"]["states"],
): Change =>
  feed.event({
    type: `delivery.${status}`,
    agentId: agent_id,
    data: {
      channel,
      ...(account !== "" && { accountId: account }),
      chatId: chat_id,
      deliveryId: id,
      attempts,
    },
    while: { delivery: id, states },
  });
