import { setImmediate as tick } from "node:timers/promises";
import {
  createJobs,
  type Job,
  type JobKind,
  type JobOutcome,
  type JobsDeps,
} from "../../../packages/gateway/src/jobs/index.ts";
import type { Logger } from "../../../packages/gateway/src/lib/logger.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { committing, createStore, memoryDatabase } from "../../fixtures/memory-db.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** A run under way, ended by the test. */
export interface Run {
  job: Job;
  signal: AbortSignal;
  end(outcome?: JobOutcome): void;
  fail(message: string): void;
}

/** A kind whose runs last until the test ends them. */
export function kindOf(more: Partial<JobKind> = {}): JobKind & { runs_: Run[] } {
  const runs_: Run[] = [];
  return {
    name: "work",
    scope: "store",
    runs: "atLeastOnce",
    limitMs: MINUTE,
    concurrency: 1,
    backOff: { firstMs: 1_000, mostMs: 10_000 },
    run: (job, signal) =>
      new Promise((resolve, reject) => {
        runs_.push({
          job,
          signal,
          end: (outcome = {}) => resolve(outcome),
          fail: (message) => reject(new Error(message)),
        });
      }),
    ...more,
    runs_,
  };
}

/** A scheduler over a database in memory; a second one takes the `db` and the `clock` of the first. */
export function startRig(
  kinds: readonly JobKind[],
  more: Partial<JobsDeps> & {
    db?: ReturnType<typeof memoryDatabase>;
    clock?: ReturnType<typeof manualClock>;
  } = {},
) {
  const { db = memoryDatabase(), clock = manualClock(), ...deps } = more;
  const store = createStore(db);
  const lines: string[] = [];
  const line = (level: string) => (fields: object, text: string) => {
    const { err } = fields as { err?: Error };
    lines.push(`${level}: ${text}${err ? `: ${err.message}` : ""}`);
  };
  const log = {
    debug: () => {},
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
  } as unknown as Logger;
  const counted: string[] = [];
  let reads = 0;
  const counting = new Proxy(store.jobs, {
    get(target, name, self) {
      if (["waiting", "ofKinds", "plannedAfter", "heldByOthers"].includes(String(name))) reads++;
      return Reflect.get(target, name, self);
    },
  });
  let dead = false;
  let frozen = false;
  const jobs = createJobs({
    store: {
      jobs: counting,
      ...committing((...changes) => (dead ? new Promise(() => {}) : store.commit(...changes))),
    },
    clock: { ...clock, after: (ms, task) => clock.after(ms, () => dead || frozen || task()) },
    log,
    kinds,
    holder: "me",
    random: () => 1,
    agents: () => ["a"],
    node: "here",
    alone: true,
    counters: {
      began: (kind, lateMs) => counted.push(`${kind} began ${lateMs} late`),
      ended: (kind, outcome) => counted.push(`${kind} ${outcome}`),
    },
    ...deps,
  });
  const settle = async () => {
    for (let n = 0; n < 8; n++) await tick();
  };
  return {
    jobs,
    store,
    db,
    clock,
    lines,
    counted,
    reads: () => reads,
    settle,
    /** Nothing of this process goes on. */
    kill() {
      dead = true;
    },
    /** Its timers do not fire any more, as if it were stopped. */
    freeze() {
      frozen = true;
    },
    async advance(ms: number) {
      await settle();
      clock.advance(ms);
      await settle();
    },
    /** Plans a job that runs once, in so many milliseconds. */
    async plan(key: string, ms = 0, { kind = "work", owner = "", payload = null as string | null } = {}) {
      const now = clock.now();
      await store.commit(store.jobs.add({ kind, key, owner, payload, now, nextAt: now + ms }));
      jobs.planned(now + ms);
      await settle();
    },
    row: (key: string, kind = "work") => store.jobs.get({ kind, key }),
  };
}
