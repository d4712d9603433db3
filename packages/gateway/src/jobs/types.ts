import type { Change, JobRef } from "../store/index.ts";

/** Whose a kind's jobs are: the owner of the agent runs them, any one node, or the node that planned them. */
export type JobScope = "agent" | "store" | "node";

/** One run of a job, as its kind sees it. */
export interface Job extends JobRef {
  /** Id of the agent; empty for jobs of the store. */
  owner: string;
  /** What was planned with it. */
  payload: unknown;
  /** 1 for the first attempt, counted until one succeeds. */
  attempt: number;
  /** When it was due, Unix milliseconds. */
  dueAt: number;
  /** Its time came while the gateway was not running. */
  missed: boolean;
}

export interface JobOutcome {
  /** What the run changes: durable in the unit that ends it, or not at all. */
  changes?: readonly Change<unknown>[];
  /** When it runs again, Unix milliseconds, in place of what the kind's `next` says. */
  again?: number;
}

/** A job that a kind always has. */
export interface StandingJob {
  key: string;
  /** Id of the agent, for jobs of agents. */
  owner?: string;
  /** Settings that its times depend on: with other ones it is planned anew. */
  payload?: unknown;
}

/** What the scheduler knows of a kind of work. */
export interface JobKind {
  /** Stored with each job; never renamed. */
  name: string;
  scope: JobScope;
  /**
   * After a crash or a failure, `atLeastOnce` runs again, and `atMostOnce` never: the job is closed as `interrupted` or
   * `failed`, or waits for its next time.
   */
  runs: "atLeastOnce" | "atMostOnce";
  /** A run that takes longer is aborted, and has failed. */
  limitMs: number;
  /** Runs at the same time, at most. */
  concurrency: number;
  /** Pauses between attempts: they double, with some chance in them. */
  backOff: { firstMs: number; mostMs: number };
  /**
   * Does the work. It may be aborted at any time, and must end soon after. Nothing that it stores outside `changes` is
   * protected from a run that has lost its claim.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most kinds have nothing to tell
  run(job: Job, signal: AbortSignal): Promise<JobOutcome | void>;
  /** The next time after `now`, Unix milliseconds; a kind without it has jobs that run once. */
  next?(job: Pick<Job, "key" | "payload">, now: number): number;
  /** The first time of a job that it always has, where it differs from `next`. */
  first?(job: Pick<Job, "key" | "payload">, now: number): number;
  standing?(): readonly StandingJob[];
  /** What a run that a crash or the stop of the gateway cut off for good changes. */
  interrupted?(job: Job): readonly Change[];
}

/** What the scheduler reports for monitoring. */
export interface JobCounters {
  began(kind: string, lateMs: number): void;
  ended(kind: string, outcome: "ok" | "failed" | "interrupted"): void;
}
