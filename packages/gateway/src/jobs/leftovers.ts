import { isTakenAway, type StoredJob } from "../store/index.ts";
import { commitByOwner, unitsOf } from "./owner.ts";
import { cutOff, type RunDeps } from "./run.ts";
import type { JobKind } from "./types.ts";

/** Decides about runs whose process is gone, as their kinds say. Resolves to false when one of them is left. */
export async function takeOver(
  { store, clock, log, counters, random }: RunDeps,
  kindOf: (name: string) => JobKind | undefined,
  rows: readonly StoredJob[],
): Promise<boolean> {
  let all = true;
  for (const row of rows) {
    const kind = kindOf(row.kind);
    if (!kind) continue;
    try {
      const [end, changes] = cutOff(kind, row, clock.now(), random);
      await unitsOf(store, row.owner).commit(...changes, store.jobs.end(row, row.fence, end));
      counters.ended(kind.name, "interrupted");
      log.info({ kind: row.kind, key: row.key, next: end.state }, "a job was cut off");
    } catch (error) {
      // Its run may have ended meanwhile.
      if (isTakenAway(error)) continue;
      all = false;
      log.warn({ kind: row.kind, key: row.key, err: error }, "could not close a job that was cut off");
    }
  }
  return all;
}

/**
 * Plans anew what was planned at a time that is yet to come: the clock was set back. Otherwise an hourly job would wait
 * for as long as the clock was wrong.
 */
export async function replanAhead(
  { store, clock }: Pick<RunDeps, "store" | "clock">,
  kindOf: (name: string) => JobKind | undefined,
  kinds: readonly string[],
  owners: readonly string[],
): Promise<void> {
  const now = clock.now();
  const rows = await store.jobs.plannedAfter(now, kinds, owners);
  const changes = rows.map((row) => {
    const payload = row.payload === null ? undefined : (JSON.parse(row.payload) as unknown);
    const delayed = now + Math.max(0, row.nextAt - row.plannedAt);
    // Between attempts the pause counts; otherwise, for a job with times of its own, the next of them.
    const own = row.attempts === 0 ? kindOf(row.kind)?.next?.({ key: row.key, payload }, now) : undefined;
    return [
      row.owner,
      store.jobs.replan(row, { now, nextAt: own ?? delayed, payload: row.payload }),
    ] as const;
  });
  await commitByOwner(store, changes);
}

/**
 * Which claims of other processes have lasted longer than they may. Their age is measured by this process's own clock,
 * from when it first saw them, so that no other clock decides.
 */
export function createLeaseWatch(clock: RunDeps["clock"]) {
  let since = new Map<string, number>();
  return {
    over(rows: readonly StoredJob[]): StoredJob[] {
      const now = clock.elapsed();
      const before = since;
      const name = ({ kind, key, fence }: StoredJob) => JSON.stringify([kind, key, fence]);
      since = new Map(rows.map((row) => [name(row), before.get(name(row)) ?? now]));
      return rows.filter((row) => now - since.get(name(row))! >= (row.leaseMs ?? 0));
    },
  };
}
