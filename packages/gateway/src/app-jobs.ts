import { randomUUID } from "node:crypto";
import {
  createJobs,
  forgetClosed,
  type Housekeeping,
  housekeeping,
  type JobKind,
  type JobsDeps,
} from "./jobs/index.ts";
import type { Change, Store } from "./store/index.ts";

const MINUTE_MS = 60_000;
const REMOVED = "agents.removed";

/** A room whose rows want regular work. */
interface Kept {
  housekeeping: Housekeeping;
}

export interface AppJobsDeps extends Pick<JobsDeps, "clock" | "log"> {
  monitoring: { jobs: JobsDeps["counters"] };
  rows: Store;
  /** Agents of this gateway. */
  served(): readonly { id: string }[];
  channels: Kept & { abandonAll(agentId: string): readonly Change<unknown>[] };
  crons: { ticks: JobKind; abandonAll(agentId: string): readonly Change<unknown>[] };
  feed: Kept;
  history: { retention: Pick<JobKind, "standing" | "first" | "next" | "run"> };
  shares: Kept;
  usage: Kept;
  oauth: { refresh: Pick<JobKind, "standing" | "first" | "next" | "run"> };
  /** This gateway, where several share the store. */
  node: string;
}

/** The scheduler with every kind of job that the rooms have. */
export function createAppJobs({
  rows,
  served,
  monitoring,
  channels,
  crons,
  feed,
  history,
  shares,
  usage,
  oauth,
  ...deps
}: AppJobsDeps) {
  const { clock } = deps;
  const jobs = createJobs({
    ...deps,
    store: rows,
    counters: monitoring.jobs,
    kinds: [
      housekeeping("channels.old", channels.housekeeping),
      crons.ticks,
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
      {
        // The file with the tokens belongs to this home.
        name: "connectors.refresh",
        scope: "node",
        runs: "atLeastOnce",
        limitMs: 10 * MINUTE_MS,
        concurrency: 1,
        backOff: { firstMs: 1_000, mostMs: MINUTE_MS },
        ...oauth.refresh,
      },
      ...(rows.housekeeping ? [housekeeping("store.units", rows.housekeeping)] : []),
      forgetClosed(rows, clock),
      {
        name: REMOVED,
        scope: "store",
        runs: "atLeastOnce",
        limitMs: MINUTE_MS,
        concurrency: 1,
        backOff: { firstMs: MINUTE_MS, mostMs: 30 * MINUTE_MS },
        async run({ key }) {
          // Its entry was not removed after all, or there is a new agent of this name.
          if (served().some(({ id }) => id === key)) return;
          return {
            changes: [...channels.abandonAll(key), ...crons.abandonAll(key), rows.jobs.removeOwner(key)],
          };
        },
      },
    ],
    agents: () => served().map(({ id }) => id),
    holder: randomUUID(),
    random: Math.random,
    // Otherwise the lock on the home keeps every other process away from its database.
    alone: rows.shared === undefined,
  });
  return {
    ...jobs,
    /**
     * Call before the entry of an agent goes: if the gateway is killed before it has closed what waits for the agent, that
     * is done a minute later, or at the next start.
     */
    async removing(agentId: string): Promise<void> {
      // Another gateway may have the agent in its own file.
      if (rows.shared) return;
      const now = clock.now();
      const plan = { kind: REMOVED, key: agentId, payload: null, now, nextAt: now + MINUTE_MS };
      await rows.commit(rows.jobs.add({ ...plan, owner: "" }), rows.jobs.replan(plan, plan));
      jobs.planned(plan.nextAt);
    },
  };
}
