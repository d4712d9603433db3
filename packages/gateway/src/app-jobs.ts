import { randomUUID } from "node:crypto";
import {
  createJobs,
  forgetClosed,
  type Housekeeping,
  housekeeping,
  type JobKind,
  type JobsDeps,
} from "./jobs/index.ts";
import type { Store } from "./store/index.ts";

const MINUTE_MS = 60_000;

/** A room whose rows want regular work. */
interface Kept {
  housekeeping: Housekeeping;
}

export interface AppJobsDeps extends Pick<JobsDeps, "clock" | "log"> {
  monitoring: { jobs: JobsDeps["counters"] };
  rows: Store;
  /** Agents of this gateway. */
  served(): readonly { id: string }[];
  channels: Kept;
  feed: Kept;
  history: { retention: Pick<JobKind, "standing" | "first" | "next" | "run"> };
  shares: Kept;
  usage: Kept;
}

/** The scheduler with every kind of job that the rooms have. */
export const createAppJobs = ({
  rows,
  served,
  monitoring,
  channels,
  feed,
  history,
  shares,
  usage,
  ...deps
}: AppJobsDeps) =>
  createJobs({
    ...deps,
    store: rows,
    counters: monitoring.jobs,
    kinds: [
      housekeeping("channels.old", channels.housekeeping),
      housekeeping("events.old", feed.housekeeping),
      housekeeping("shares.expired", shares.housekeeping),
      {
        name: "history.retention",
        scope: "agent",
        runs: "atLeastOnce",
        limitMs: 120 * MINUTE_MS,
        concurrency: 1,
        backOff: { firstMs: 4_000, mostMs: 30 * MINUTE_MS },
        ...history.retention,
      },
      housekeeping("usage.days", usage.housekeeping),
      ...(rows.housekeeping ? [housekeeping("store.units", rows.housekeeping)] : []),
      forgetClosed(rows, deps.clock),
    ],
    agents: () => served().map(({ id }) => id),
    holder: randomUUID(),
    random: Math.random,
    node: "local",
    // Otherwise the lock on the home keeps every other process away from its database.
    alone: rows.shared === undefined,
  });
