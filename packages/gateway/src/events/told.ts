import type { FeedType } from "@agent-gateway/contract";
import type { EventCondition } from "../store/index.ts";

/** What is told of an event. */
export interface Told {
  type: FeedType;
  agentId?: string | undefined;
  /** Ids, states and counts; nothing that a person wrote. */
  data?: Readonly<Record<string, unknown>>;
  /** Row of the message whose text it tells. */
  message?: number | undefined;
  /** Told only if this holds when the unit that tells it comes to it. */
  while?: EventCondition | undefined;
}
