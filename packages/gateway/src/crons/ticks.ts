import type { Clock } from "../lib/clock.ts";
import { type Change, type Store, type StoredCron, UnsettledError } from "../store/index.ts";
import { timingOf } from "./input.ts";
import type { CronDeps } from "./ports.ts";
import { specIn } from "./records.ts";
import { nextAfter } from "./schedule.ts";

/** Kind of the jobs that look for what is due; there is one for each agent that has had any. */
export const TICKS = "crons.ticks";
/** Rows of one unit. */
const BATCH = 20;
/** An agent of whose jobs none is planned is looked at again after this. */
const IDLE_MS = 86_400_000;
/** A plan from so far in the future shows that the clock was set back. */
const SET_BACK_MS = 1_000;
/** A clock that was set back by more than this was wrong before: what came then does not count. */
const WRONG_MS = 25 * 3_600_000;

/** When a job runs next. A clock that was set back a little does not repeat what has been. */
export function nextOf(
  cron: Pick<StoredCron, "spec" | "createdAt" | "lastTick">,
  now: number,
): number | null {
  const last = cron.lastTick ?? now;
  const after = last > now && last - now <= WRONG_MS ? last : now;
  return nextAfter(timingOf(specIn(cron), cron.createdAt), after);
}

/** Changes after which an agent's jobs are looked at, at once and whatever was planned. */
export function createLooks({ store, clock }: { store: Pick<Store, "jobs">; clock: Clock }) {
  let last = 0;
  return (agentId: string): { at: number; changes: readonly Change<unknown>[] } => {
    const at = clock.now();
    // Each has a number of its own, so that a run that has begun cannot end the job in place of another.
    last = Math.max(at, last + 2);
    const job = { kind: TICKS, key: agentId };
    const plan = { owner: agentId, payload: null, now: last, nextAt: at };
    return { at, changes: [store.jobs.remove(job), store.jobs.add({ ...job, ...plan })] };
  };
}

/** Fires what is due of one agent. Each time is fired by a unit of its own effect, so it may be tried again at will. */
export function createTicks(
  { store, clock, log, step }: Pick<CronDeps, "store" | "clock" | "log" | "step">,
  servedSince: (agentId: string) => number,
  waits: (run: { id: number; agentId: string }) => void,
) {
  /** The changes for one job whose time has come. */
  const fire = (cron: StoredCron, now: number) => {
    const nextAt = nextOf({ ...cron, lastTick: Math.max(cron.lastTick ?? 0, cron.nextAt!) }, now);
    const missed = cron.nextAt! < servedSince(cron.agentId);
    if (missed && !specIn(cron).catchUp)
      return { nextAt, change: store.crons.replan(cron.id, cron.nextAt, { nextAt, plannedAt: now }) };
    const cause = missed ? ("catch_up" as const) : ("schedule" as const);
    return { nextAt, change: store.crons.tick(cron, { now, nextAt, cause }) };
  };

  /** Begins the runs of a unit that was stored although its caller was refused: no later tick knows of them. */
  const beginLate = async (agentId: string, outcome: Promise<boolean>): Promise<void> => {
    try {
      if (!(await outcome)) return;
      const open = await store.crons.openRuns(agentId);
      for (const run of open) if (run.state === "waiting") waits(run);
    } catch (error) {
      log.error({ err: error, agent: agentId }, "could not begin the scheduled runs that wait");
    }
  };

  /** Resolves to when it is to be called again. */
  return async (agentId: string): Promise<number> => {
    const now = clock.now();
    const all = (await store.crons.list([agentId])).filter(({ enabled }) => enabled);
    const next: number[] = [];
    const changes: Change<unknown>[] = [];
    for (const cron of all) {
      let at = cron.nextAt;
      if (cron.plannedAt > now + SET_BACK_MS) {
        at = nextOf(cron, now);
        changes.push(store.crons.replan(cron.id, cron.nextAt, { nextAt: at, plannedAt: now }));
      } else if (at !== null && at <= now) {
        const fired = fire(cron, now);
        at = fired.nextAt;
        changes.push(fired.change);
      }
      if (at !== null) next.push(at);
    }
    const units = store.forAgent(agentId);
    for (let from = 0; from < changes.length; from += BATCH) {
      step("before-tick-row");
      const answers = await units.commit(...changes.slice(from, from + BATCH)).catch((error: unknown) => {
        if (error instanceof UnsettledError) void beginLate(agentId, error.outcome);
        throw error;
      });
      step("after-tick-row");
      for (const run of answers as ReadonlyArray<{ id: number; state: string } | undefined>) {
        if (run?.state === "waiting") waits({ id: run.id, agentId });
      }
    }
    return Math.min(now + IDLE_MS, ...next);
  };
}
