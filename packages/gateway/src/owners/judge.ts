import type { SeenNode } from "../store/index.ts";

/** Two readings that lie further apart say nothing about what happened in between. */
export const GAP_MS = 3_000;

interface Watched {
  counter: number;
  /** When this counter was first read. */
  since: number;
}

/**
 * Judges which gateways are dead: those whose counter has stood still in every reading for as long as the lease, by the
 * time of this process. No wall clock decides, and neither a pause of this process nor an outage of the store counts.
 */
export function createJudge() {
  let watched = new Map<string, Watched>();
  let readAt = Number.NEGATIVE_INFINITY;
  return {
    /** Takes a reading asked for at `sent` and answered at `got`; answers how long each counter has surely stood still. */
    read(
      nodes: readonly Pick<SeenNode, "bootId" | "counter">[],
      sent: number,
      got: number,
    ): Map<string, number> {
      const before = got - readAt > GAP_MS ? new Map<string, Watched>() : watched;
      readAt = got;
      watched = new Map(
        nodes.map(({ bootId, counter }) => {
          const known = before.get(bootId);
          return [bootId, known?.counter === counter ? known : { counter, since: got }] as const;
        }),
      );
      // What was read is at least as old as the answer before, and at most as old as the question.
      return new Map([...watched].map(([bootId, { since }]) => [bootId, sent - since]));
    },
  };
}
