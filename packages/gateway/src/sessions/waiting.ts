import type { Clock } from "../lib/clock.ts";
import type { Pool } from "./pool.ts";

export interface WaitLimits {
  ms: number;
  signal: AbortSignal;
}

/** Asks for a decision each time a place of the agent may have become free; false when there is none in time. */
export const createDecider =
  (clock: Clock, pool: Pick<Pool, "freed">) =>
  async (
    agentId: string,
    { ms, signal }: WaitLimits,
    decision: () => boolean | undefined,
  ): Promise<boolean> => {
    const end = clock.elapsed() + ms;
    while (!signal.aborted) {
      const decided = decision();
      if (decided !== undefined) return decided;
      const left = end - clock.elapsed();
      if (left <= 0) break;
      await pool.freed(agentId, left, signal);
    }
    return false;
  };
