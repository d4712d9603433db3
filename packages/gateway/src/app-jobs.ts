import { randomUUID } from "node:crypto";
import { createJobs, forgetClosed, type Housekeeping, housekeeping, type JobsDeps } from "./jobs/index.ts";
import type { Store } from "./store/index.ts";

/** A room whose rows want regular work. */
interface Kept {
  housekeeping: Housekeeping;
}

export interface AppJobsDeps extends Pick<JobsDeps, "clock" | "log" | "counters"> {
  rows: Store;
  config(): { agents: readonly { id: string }[] };
  channels: Kept;
  shares: Kept;
}

/** The scheduler with every kind of job that the rooms have. */
export const createAppJobs = ({ rows, config, channels, shares, ...deps }: AppJobsDeps) =>
  createJobs({
    ...deps,
    store: rows,
    kinds: [
      housekeeping("channels.old", channels.housekeeping),
      housekeeping("shares.expired", shares.housekeeping),
      forgetClosed(rows, deps.clock),
    ],
    agents: () => config().agents.map(({ id }) => id),
    holder: randomUUID(),
    random: Math.random,
    node: "local",
    // The lock on the home keeps every other process away from its database.
    alone: true,
  });
