import { type Change, change, hitting, sql } from "../change.ts";
import type { Sql } from "./port.ts";

export interface JobRef {
  kind: string;
  /** Unique within the kind. */
  key: string;
}

/** Work that has its time. Times are Unix milliseconds of the store's clock. */
export interface StoredJob extends JobRef {
  /** Id of an agent, `node:` and the name of a node, or empty for work of the store as a whole. */
  owner: string;
  state: "waiting" | "running" | "failed" | "interrupted";
  /** Raised by each claim. */
  fence: number;
  /** Attempts since the latest success. */
  attempts: number;
  /** When `nextAt` was decided. */
  plannedAt: number;
  nextAt: number;
  /** The process that runs it. */
  holder: string | null;
  /** How long the claim lasts at most; another process measures it by its own clock. */
  leaseMs: number | null;
  /** JSON text. */
  payload: string | null;
  /** Why the latest run failed. */
  note: string | null;
}

/** What becomes of a job whose run has ended. */
export type EndedJob =
  | { state: "waiting"; now: number; nextAt: number; attempts: number; note: string | null }
  /** Stays as it is, for whoever asks what became of it. */
  | { state: "failed" | "interrupted"; now: number; note: string | null }
  /** Its row goes. */
  | { state: "done" };

export interface StoredJobs {
  /** The jobs of these kinds and owners that wait, the next one first. */
  waiting(kinds: readonly string[], owners: readonly string[], limit: number): Promise<StoredJob[]>;
  /** The jobs of these kinds and owners that wait and were planned after `now`: the clock was set back. */
  plannedAfter(now: number, kinds: readonly string[], owners: readonly string[]): Promise<StoredJob[]>;
  /** Those that are running in a process other than `holder`. */
  heldByOthers(holder: string, kinds: readonly string[], owners: readonly string[]): Promise<StoredJob[]>;
  /** All jobs of these kinds. */
  ofKinds(kinds: readonly string[]): Promise<StoredJob[]>;
  get(ref: JobRef): Promise<StoredJob | undefined>;
  /** Answers whether it is new: there is one of each kind and key. */
  add(job: JobRef & { owner: string; payload: string | null; now: number; nextAt: number }): Change<boolean>;
  /** Gives a waiting job another time; answers whether it was waiting. */
  replan(ref: JobRef, plan: { now: number; nextAt: number; payload: string | null }): Change<boolean>;
  /** Answers whether the job is the caller's now: it was waiting, was due at `now`, and no one claimed it since it was read. */
  claim(job: StoredJob, by: { holder: string; leaseMs: number; now: number }): Change<boolean>;
  /**
   * Ends the run that `fence` stands for. Where it is no longer that run's, the whole unit fails with an error for
   * which {@link isTakenAway} is true.
   */
  end(ref: JobRef, fence: number, ended: EndedJob): Change;
  remove(ref: JobRef): Change;
  removeOwner(owner: string): Change;
  /** Removes jobs that were closed before that time. */
  forget(before: number): Change;
}

/** Whether a unit failed because the job that it was to end belongs to another run, or is gone. */
export const isTakenAway = (error: unknown): boolean =>
  error instanceof Error && error.message.includes("job_taken_away");

const COLUMNS = `kind, key, owner, state, fence, attempts, planned_at AS "plannedAt", next_at AS "nextAt", holder,
  lease_ms AS "leaseMs", payload, note`;

const marks = (values: readonly string[]) => values.map(() => "?").join(", ");

export function createJobs({ read }: Sql): StoredJobs {
  const find = (
    where: string,
    kinds: readonly string[],
    owners: readonly string[],
    ...params: readonly (string | number)[]
  ): Promise<StoredJob[]> =>
    kinds.length === 0 || owners.length === 0
      ? Promise.resolve([])
      : read(
          `SELECT ${COLUMNS} FROM jobs WHERE kind IN (${marks(kinds)}) AND owner IN (${marks(owners)}) AND ${where}`,
          [...kinds, ...owners, ...params],
        );

  return {
    waiting: (kinds, owners, limit) =>
      find("state = 'waiting' ORDER BY next_at, kind, key LIMIT ?", kinds, owners, limit),
    plannedAfter: (now, kinds, owners) => find("state = 'waiting' AND planned_at > ?", kinds, owners, now),
    heldByOthers: (holder, kinds, owners) => find("state = 'running' AND holder <> ?", kinds, owners, holder),
    ofKinds: (kinds) =>
      read(`SELECT ${COLUMNS} FROM jobs WHERE kind IN (${marks(kinds)}) ORDER BY kind, key`, kinds),
    async get({ kind, key }) {
      const [row] = await read<StoredJob>(`SELECT ${COLUMNS} FROM jobs WHERE kind = ? AND key = ?`, [
        kind,
        key,
      ]);
      return row;
    },
    add: ({ kind, key, owner, payload, now, nextAt }) =>
      hitting(
        sql(
          // A job removed and added again does not count its claims from the beginning, as those of the first may live.
          `INSERT INTO jobs (kind, key, owner, state, fence, planned_at, next_at, payload)
           VALUES (?, ?, ?, 'waiting', ?, ?, ?, ?) ON CONFLICT (kind, key) DO NOTHING`,
          kind,
          key,
          owner,
          now,
          now,
          nextAt,
          payload,
        ),
      ),
    replan: ({ kind, key }, { now, nextAt, payload }) =>
      hitting(
        sql(
          `UPDATE jobs SET planned_at = ?, next_at = ?, payload = ?
           WHERE kind = ? AND key = ? AND state = 'waiting'`,
          now,
          nextAt,
          payload,
          kind,
          key,
        ),
      ),
    claim: ({ kind, key, fence }, { holder, leaseMs, now }) =>
      hitting(
        sql(
          `UPDATE jobs SET state = 'running', fence = fence + 1, attempts = attempts + 1, holder = ?, lease_ms = ?
           WHERE kind = ? AND key = ? AND state = 'waiting' AND fence = ? AND next_at <= ?`,
          holder,
          leaseMs,
          kind,
          key,
          fence,
          now,
        ),
      ),
    end({ kind, key }, fence, ended) {
      const row = [kind, key, fence] as const;
      return change(
        // Locks the row where transactions run side by side, and leaves a state that is never seen outside the unit.
        sql(
          "UPDATE jobs SET state = 'ending' WHERE kind = ? AND key = ? AND fence = ? AND state = 'running'",
          ...row,
        ),
        // Inserts nothing, or breaks the unit.
        sql(
          `INSERT INTO jobs (kind, key, owner, state, planned_at, next_at)
           SELECT '', '', '', 'taken away', 0, 0
           WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE kind = ? AND key = ? AND fence = ? AND state = 'ending')`,
          ...row,
        ),
        ended.state === "done"
          ? sql("DELETE FROM jobs WHERE kind = ? AND key = ? AND fence = ?", ...row)
          : sql(
              `UPDATE jobs SET state = ?, holder = NULL, lease_ms = NULL, planned_at = ?, next_at = ?,
                 attempts = coalesce(?, attempts), note = ?
               WHERE kind = ? AND key = ? AND fence = ?`,
              ended.state,
              ended.now,
              ended.state === "waiting" ? ended.nextAt : ended.now,
              ended.state === "waiting" ? ended.attempts : null,
              ended.note,
              ...row,
            ),
      );
    },
    remove: ({ kind, key }) => change(sql("DELETE FROM jobs WHERE kind = ? AND key = ?", kind, key)),
    removeOwner: (owner) => change(sql("DELETE FROM jobs WHERE owner = ?", owner)),
    forget: (before) =>
      change(sql("DELETE FROM jobs WHERE state IN ('failed', 'interrupted') AND planned_at < ?", before)),
  };
}
