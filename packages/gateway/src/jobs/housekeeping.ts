import type { Clock } from "../lib/clock.ts";
import type { Change, Store } from "../store/index.ts";
import type { JobKind } from "./types.ts";

/** Regular work on the rows of one room, small enough for a single unit. */
export interface Housekeeping {
  everyMs: number;
  /** What is to be done now. */
  changes(): readonly Change<unknown>[];
}

const DAY_MS = 86_400_000;
const KEEP_CLOSED_MS = 30 * DAY_MS;

/** A kind whose one job does a room's housekeeping, for the store as a whole. */
export const housekeeping = (name: string, { everyMs, changes }: Housekeeping): JobKind => ({
  name,
  scope: "store",
  runs: "atLeastOnce",
  limitMs: 60_000,
  concurrency: 1,
  backOff: { firstMs: 60_000, mostMs: everyMs },
  standing: () => [{ key: "all" }],
  next: (_, now) => now + everyMs,
  run: async () => ({ changes: changes() }),
});

/** Forgets jobs that failed or were interrupted for good, a month later. */
export const forgetClosed = ({ jobs }: Pick<Store, "jobs">, clock: Clock): JobKind =>
  housekeeping("jobs.closed", {
    everyMs: DAY_MS,
    changes: () => [jobs.forget(clock.now() - KEEP_CLOSED_MS)],
  });
