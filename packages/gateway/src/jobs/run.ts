import { GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { oneLine } from "../lib/one-line.ts";
import {
  type Change,
  type EndedJob,
  FencedError,
  isTakenAway,
  type Store,
  type StoredJob,
  UnsettledError,
} from "../store/index.ts";
import { unitsOf } from "./owner.ts";
import type { Job, JobCounters, JobKind, JobOutcome } from "./types.ts";

export interface RunDeps {
  store: Pick<Store, "jobs" | "commit" | "forAgent">;
  clock: Clock;
  log: Logger;
  counters: JobCounters;
  /** This process. */
  holder: string;
  /** From 0 to 1. */
  random(): number;
}

/** How long an aborted run has to end by itself. */
export const GRACE_MS = 5_000;
/** Pause before the end of a run is stored again, after the store refused it. */
const STORE_AGAIN_MS = 5_000;
/** No kind runs the same job more often, whatever it says. */
const MIN_PAUSE_MS = 1_000;
const MAX_NOTE_CHARS = 300;

/** What a run came to. `stopped`: the gateway stops, and the run did not end before. `unbegun`: its job was only claimed. */
type Ending =
  | { is: "ok"; value: JobOutcome }
  | { is: "failed"; error: unknown }
  | { is: "stopped" }
  | { is: "unbegun" };

export const pauseAfter = (attempts: number, { firstMs, mostMs }: JobKind["backOff"], chance: number) =>
  Math.min(mostMs, firstMs * 2 ** Math.min(attempts - 1, 30)) * (0.75 + chance / 4);

/** A stored job as its kind sees it. */
export const seen = (row: StoredJob, missed: boolean): Job => ({
  kind: row.kind,
  key: row.key,
  owner: row.owner.startsWith("node:") ? "" : row.owner,
  payload: row.payload === null ? undefined : JSON.parse(row.payload),
  attempt: row.attempts,
  dueAt: row.nextAt,
  missed,
});

/** What becomes of a job whose run was cut off: by a crash, by the stop of the gateway, or because its node is gone. */
export function cutOff(
  kind: JobKind,
  row: StoredJob,
  now: number,
  random: () => number,
): readonly [EndedJob, readonly Change<unknown>[]] {
  if (kind.runs === "atLeastOnce") {
    const nextAt = now + pauseAfter(row.attempts, kind.backOff, random());
    return [{ state: "waiting", now, nextAt, attempts: row.attempts, note: row.note }, []];
  }
  const job = seen(row, false);
  const changes = kind.interrupted?.(job) ?? [];
  if (!kind.next) return [{ state: "interrupted", now, note: null }, changes];
  return [
    { state: "waiting", now, nextAt: nextTime(kind, job, now), attempts: 0, note: "interrupted" },
    changes,
  ];
}

function nextTime(kind: JobKind, job: Pick<Job, "key" | "payload">, now: number): number {
  const next = kind.next!(job, now);
  return Math.max(Number.isFinite(next) ? next : now + kind.backOff.mostMs, now + MIN_PAUSE_MS);
}

/** Runs one due job from its claim to its end. Never rejects; resolves to false when the store could not be reached. */
export async function runJob(
  deps: RunDeps,
  kind: JobKind,
  read: StoredJob,
  { missed, signal }: { missed: boolean; signal: AbortSignal },
): Promise<boolean> {
  const { store, clock, log, counters } = deps;
  const leaseMs = kind.limitMs + 2 * GRACE_MS;
  const claimedAt = clock.now();
  const units = unitsOf(store, read.owner);
  const row: StoredJob = { ...read, fence: read.fence + 1, attempts: read.attempts + 1 };
  try {
    const by = { holder: deps.holder, leaseMs, now: claimedAt };
    const [mine] = await units.commit(store.jobs.claim(read, by));
    if (!mine) return true;
  } catch (error) {
    log.debug({ kind: kind.name, key: read.key, err: error }, "could not claim a job");
    // Claimed all the same, it would look as if it ran for as long as this process lives.
    if (error instanceof UnsettledError && (await unlessStopped(error.outcome, signal)))
      await finish({ is: "unbegun" });
    return false;
  }
  let ending: Ending = { is: "unbegun" };
  if (!signal.aborted) {
    counters.began(kind.name, Math.max(0, claimedAt - row.nextAt));
    ending = await attempt(clock, kind, row, missed, signal);
  }
  return finish(ending);

  async function finish(ended: Ending): Promise<boolean> {
    for (let final = ended; ; ) {
      try {
        const [end, changes] = become(final);
        await units.commit(...changes, store.jobs.end(row, row.fence, end));
        if (final.is !== "unbegun")
          counters.ended(kind.name, final.is === "stopped" ? "interrupted" : final.is);
        tell(final);
        return true;
      } catch (error) {
        if (isTakenAway(error) || error instanceof FencedError) {
          if (final.is !== "unbegun") counters.ended(kind.name, "interrupted");
          log.debug({ kind: kind.name, key: row.key }, "a job was taken away from its run");
          return true;
        }
        // What the run wanted to change may be what the store refuses: the job ends without it.
        if (final.is === "ok" && !isAway(error)) final = { is: "failed", error };
        else if (!(await pause())) return false;
      }
    }
  }

  function become(final: Ending): readonly [EndedJob, readonly Change<unknown>[]] {
    const now = clock.now();
    const { attempts } = row;
    if (final.is === "ok") {
      const { again, changes = [] } = final.value;
      if (again === undefined && !kind.next) return [{ state: "done" }, changes];
      const nextAt =
        again === undefined ? nextTime(kind, seen(row, missed), now) : Math.max(again, now + MIN_PAUSE_MS);
      return [{ state: "waiting", now, nextAt, attempts: 0, note: null }, changes];
    }
    if (final.is === "stopped" && kind.runs === "atMostOnce") return cutOff(kind, row, now, deps.random);
    if (final.is === "stopped" || final.is === "unbegun") {
      // The run that the stop cut off does not count.
      return [{ state: "waiting", now, nextAt: row.nextAt, attempts: attempts - 1, note: row.note }, []];
    }
    const note = noteOf(final.error);
    if (kind.runs === "atLeastOnce") {
      const nextAt = now + pauseAfter(attempts, kind.backOff, deps.random());
      return [{ state: "waiting", now, nextAt, attempts, note }, []];
    }
    if (!kind.next) return [{ state: "failed", now, note }, []];
    return [{ state: "waiting", now, nextAt: nextTime(kind, seen(row, missed), now), attempts: 0, note }, []];
  }

  /** Once per change: not for each attempt that fails alike. */
  function tell(final: Ending): void {
    const which = { kind: kind.name, key: row.key };
    if (final.is === "failed" && noteOf(final.error) !== row.note)
      log.warn({ ...which, err: final.error }, "a job failed");
    if (final.is === "ok" && row.note !== null) log.info(which, "a job succeeds again");
  }

  /** False when the gateway stops: the next start finds the job running, and decides. */
  function pause(): Promise<boolean> {
    return new Promise((resolve) => {
      const over = () => {
        cancel();
        signal.removeEventListener("abort", over);
        resolve(!signal.aborted);
      };
      const cancel = clock.after(STORE_AGAIN_MS, over);
      if (signal.aborted) over();
      else signal.addEventListener("abort", over, { once: true });
    });
  }
}

/** What comes of it; undefined when the signal comes first. */
function unlessStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve) => {
    const stopped = () => resolve(undefined);
    if (signal.aborted) stopped();
    signal.addEventListener("abort", stopped, { once: true });
    void work.then((value) => {
      signal.removeEventListener("abort", stopped);
      resolve(value);
    });
  });
}

/** The store refuses everything for now, whatever it is. */
const isAway = (error: unknown) => error instanceof GatewayError && error.code === "UNAVAILABLE";

const noteOf = (error: unknown): string =>
  oneLine(error instanceof Error ? error.message : String(error), MAX_NOTE_CHARS) ?? "failed";

/** Ends when the kind's run does, and at the latest {@link GRACE_MS} after its time is over or the gateway stops. */
function attempt(
  clock: Clock,
  kind: JobKind,
  row: StoredJob,
  missed: boolean,
  stop: AbortSignal,
): Promise<Ending> {
  const late = new AbortController();
  const signal = AbortSignal.any([stop, late.signal]);
  return new Promise((resolve) => {
    let cancelGrace = () => {};
    const cancelLimit = clock.after(kind.limitMs, () =>
      late.abort(new Error(`It took longer than ${kind.limitMs / 1000} s.`)),
    );
    const settle = (ending: Ending) => {
      cancelLimit();
      cancelGrace();
      signal.removeEventListener("abort", onAbort);
      resolve(ending);
    };
    const cut = (): Ending =>
      stop.aborted ? { is: "stopped" } : { is: "failed", error: late.signal.reason as unknown };
    const onAbort = () => {
      cancelGrace = clock.after(GRACE_MS, () => settle(cut()));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    (async () => kind.run(seen(row, missed), signal))().then(
      (value) => settle({ is: "ok", value: value ?? {} }),
      (error: unknown) => settle(signal.aborted ? cut() : { is: "failed", error }),
    );
  });
}
