import type { Param, Statement } from "../statement.ts";

/** Statements that take effect together or not at all. */
export interface Unit {
  id: number;
  statements: readonly Statement[];
}

/** The first message to a worker: the file that it serves. */
export interface OpenFile {
  kind: "open";
  file: string;
  mode: "read" | "write";
}

/** To a worker. Units that wait at the same time share one commit. */
export type ToWorker =
  | { id: number; kind: "units"; units: readonly Unit[] }
  | { id: number; kind: "query"; sql: string; params: readonly Param[] }
  | { id: number; kind: "job"; name: string; args: unknown }
  | { id: number; kind: "cancel" }
  | { id: number; kind: "close" };

/** From a worker: replies in batches, and the progress of jobs. */
export type FromWorker =
  | { id: number; ok: true; value: unknown }
  | { id: number; ok: false; message: string; code?: string; data?: unknown }
  | { id: number; progress: unknown };

/** Long work inside a worker. It yields between slices, so that units never wait for long. */
export type Job<Args = unknown, Result = unknown> = (context: JobContext, args: Args) => Promise<Result>;

export interface JobContext {
  db: import("./connection.ts").Connection;
  /** Runs `slice` in its own transaction, after all waiting units. Keep a slice under about 20 ms. */
  slice<T>(slice: () => T): Promise<T>;
  progress(value: unknown): void;
  signal: AbortSignal;
}

/** A job's error that its caller understands: `code` and `data` cross the thread boundary. */
export class JobError extends Error {
  readonly code: string;
  readonly data: unknown;
  constructor(code: string, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}
