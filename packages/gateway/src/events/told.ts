import type { FeedType } from "@agent-gateway/contract";

/** What is told of an event. */
export interface Told {
  type: FeedType;
  agentId?: string | undefined;
  /** Ids, states and counts; nothing that a person wrote. */
  data?: Readonly<Record<string, unknown>>;
  /** Row of the message whose text it tells. */
  message?: number | undefined;
}
