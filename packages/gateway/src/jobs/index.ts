import type { JobRef, StoredJob } from "../store/index.ts";
import { createLeaseWatch, replanAhead, takeOver } from "./leftovers.ts";
import { type RunDeps, runJob } from "./run.ts";
import { syncStanding } from "./standing.ts";
import type { JobKind } from "./types.ts";

export { forgetClosed, type Housekeeping, housekeeping } from "./housekeeping.ts";
export type { Job, JobCounters, JobKind, JobOutcome, JobScope, StandingJob } from "./types.ts";

export interface JobsDeps extends RunDeps {
  kinds: readonly JobKind[];
  /** The agents that this node owns. */
  agents(): readonly string[];
  /** This node's name, the same after a restart. */
  node: string;
  /** No other process works on the same store: what it finds running at the start was cut off. */
  alone: boolean;
}

/** How far the wall clock may run away from the timer before it is looked at: it may be set at any time. */
const LOOK_MS = 60_000;
/** Where other processes work on the same store, they plan jobs too, and may die. */
const SHARED_LOOK_MS = 5_000;
const STORE_AGAIN_MS = 5_000;
const SET_BACK_MS = 1_000;
const BATCH = 64;

interface Run {
  kind: JobKind;
  owner: string;
  done: Promise<void>;
  abort: AbortController;
}

/**
 * The one scheduler. Jobs are rows; while none is due, it has one timer and neither reads nor writes. A job is claimed
 * on disk before it runs, and its end is stored together with what it changed.
 */
export function createJobs(deps: JobsDeps) {
  const { store, clock, log } = deps;
  const kinds = new Map(deps.kinds.map((kind) => [kind.name, kind]));
  const kindOf = (name: string) => kinds.get(name);
  const owners = () => ["", `node:${deps.node}`, ...deps.agents()];
  const stop = new AbortController();
  const leases = createLeaseWatch(clock);
  /** Runs from before their claim until after their end. */
  const running = new Map<string, Run>();
  const idOf = ({ kind, key }: JobRef) => `${kind}\0${key}`;
  const runsOf = (name: string) => [...running.values()].filter(({ kind }) => kind.name === name).length;
  const free = (kind: JobKind) => runsOf(kind.name) < kind.concurrency;
  let startedAt = Number.POSITIVE_INFINITY;
  /** Wall clock minus timer: the most that was seen since the jobs were last looked at. */
  let offset = Number.POSITIVE_INFINITY;
  const ahead = () => clock.now() - clock.elapsed();
  const isSetBack = () => ahead() < offset - SET_BACK_MS;
  const observe = () => {
    offset = Math.max(offset, ahead());
  };
  /** Runs of a former process may be left. */
  let leftovers = true;
  let dueAt = Number.POSITIVE_INFINITY;
  let cancelTimer = () => {};
  let looking: Promise<void> | undefined;
  let again = false;
  let unsynced = false;

  function begin(kind: JobKind, row: StoredJob): void {
    const abort = new AbortController();
    const signal = AbortSignal.any([stop.signal, abort.signal]);
    const done = runJob(deps, kind, row, { missed: row.nextAt < startedAt, signal }).then((reached) => {
      running.delete(idOf(row));
      if (unsynced) void reconfigure();
      else if (reached) void look();
      else arm(clock.now() + STORE_AGAIN_MS);
    });
    running.set(idOf(row), { kind, owner: row.owner, done, abort });
  }

  /** Starts what is due and arms the timer for what comes next. */
  async function startDue(): Promise<void> {
    for (let replanned = false; ; ) {
      const open = [...kinds.values()].filter(free);
      const limit = BATCH + running.size;
      const rows = await store.jobs.waiting(
        open.map(({ name }) => name),
        owners(),
        limit,
      );
      if (stop.signal.aborted) return;
      // The clock was set back after this was decided, and before it was stored.
      if (!replanned && rows.some(({ plannedAt }) => plannedAt > clock.now() + SET_BACK_MS)) {
        // Once: those of an agent that was just taken stay as they are.
        replanned = true;
        await replanAhead(deps, kindOf, [...kinds.keys()], owners());
        continue;
      }
      let filled = false;
      for (const row of rows) {
        if (running.has(idOf(row))) continue;
        if (row.nextAt > clock.now()) return arm(row.nextAt);
        const kind = kinds.get(row.kind)!;
        if (free(kind)) begin(kind, row);
        else filled = true;
      }
      // Behind the jobs of a kind that is full, and behind this batch, there may be others.
      if (!filled && rows.length < limit) return;
    }
  }

  async function lookOnce(): Promise<void> {
    const names = [...kinds.keys()];
    if (leftovers || !deps.alone) {
      const held = await store.jobs.heldByOthers(deps.holder, names, owners());
      leftovers = !(await takeOver(deps, kindOf, deps.alone ? held : leases.over(held)));
    }
    const now = ahead();
    if (isSetBack()) await replanAhead(deps, kindOf, names, owners());
    offset = now;
    await startDue();
  }

  function look(): Promise<void> {
    if (startedAt === Number.POSITIVE_INFINITY) return Promise.resolve();
    again = true;
    looking ??= (async () => {
      while (again && !stop.signal.aborted) {
        again = false;
        dueAt = Number.POSITIVE_INFINITY;
        try {
          await lookOnce();
        } catch (error) {
          log.warn({ err: error }, "could not look for due jobs");
          arm(clock.now() + STORE_AGAIN_MS);
        }
      }
      looking = undefined;
      arm(dueAt);
    })();
    return looking;
  }

  function arm(at: number): void {
    dueAt = Math.min(dueAt, at);
    cancelTimer();
    observe();
    if (stop.signal.aborted) return;
    const most = deps.alone ? LOOK_MS : SHARED_LOOK_MS;
    cancelTimer = clock.after(Math.max(0, Math.min(dueAt - clock.now(), most)), () => {
      if (!deps.alone || isSetBack() || clock.now() >= dueAt) void look();
      else arm(dueAt);
    });
  }

  async function reconfigure(): Promise<void> {
    if (stop.signal.aborted || startedAt === Number.POSITIVE_INFINITY) return;
    leftovers = true;
    // A job that runs now can only be planned anew when it has ended.
    unsynced = [...running.values()].some(({ kind }) => kind.standing);
    await syncStanding(deps, deps.kinds, deps.node, owners()).catch((error) => {
      log.warn({ err: error }, "could not plan jobs");
      clock.after(STORE_AGAIN_MS, () => void reconfigure());
    });
    await look();
  }

  const dropAgent = (agentId: string) => {
    for (const run of running.values()) if (run.owner === agentId) run.abort.abort();
  };

  return {
    /** Decides about what a crash cut off, plans what always is, and begins. */
    start(): Promise<void> {
      startedAt = clock.now();
      return reconfigure();
    },
    /** Applies changed settings, and an agent that came or went. */
    reconfigure,
    /** Call after the commit of a job for `at`, Unix milliseconds. */
    planned(at: number): void {
      observe();
      if (at < dueAt) void look();
    },
    /** Runs under way in this process. */
    running: runsOf,
    /** Decides about what the last owner of an agent ran when it ended. */
    async recover(agentId: string): Promise<void> {
      const rows = await store.jobs.heldByOthers(deps.holder, [...kinds.keys()], [agentId]);
      await takeOver(deps, kindOf, rows);
    },
    /** Ends the runs of an agent that another gateway has taken. */
    dropAgent,
    /** Forgets the jobs of an agent that is removed for good, and ends their runs. */
    async removeAgent(agentId: string): Promise<void> {
      await store.forAgent(agentId).commit(store.jobs.removeOwner(agentId));
      dropAgent(agentId);
    },
    /** Begins nothing more, aborts what runs, and resolves when its end is stored. */
    async close(): Promise<void> {
      stop.abort();
      cancelTimer();
      await looking;
      await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}
export type Jobs = ReturnType<typeof createJobs>;
