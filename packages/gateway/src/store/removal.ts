import type { Change } from "./change.ts";

/**
 * Takes messages and turns out of the store, with everything derived from them. Sessions stay, even empty ones. What goes
 * in slices rejects with FencedError at the first slice after another gateway has taken the agent.
 */
export interface Removal {
  /** All messages of a session (row id), their place in search, and the counters. */
  clear(session: number): Change;
  /**
   * A session's messages, in slices: before {@link Removal.clear} for a session of many messages, so that the unit is
   * short and other writes do not wait for it.
   */
  emptySession(agentId: string, session: number): Promise<void>;
  /** An agent's messages with a `ts` below `before`, in slices; resolves to their number. */
  olderThan(agentId: string, before: number, signal: AbortSignal): Promise<number>;
  /** Finished turns of an agent, or of sessions that are gone, that began before `before`, in slices. */
  turnsBefore(agentId: string, before: number, signal: AbortSignal): Promise<void>;
}
