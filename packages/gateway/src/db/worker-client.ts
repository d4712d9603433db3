import { Worker } from "node:worker_threads";
import type { Param, Row } from "./connection.ts";
import type { FromWorker, Statement, StatementResult, ToWorker, Unit } from "./protocol.ts";
import { JobError } from "./protocol.ts";

export interface WorkerClient {
  unit(statements: readonly Statement[]): Promise<StatementResult[]>;
  query(sql: string, params: readonly Param[]): Promise<Row[]>;
  job<T>(
    name: string,
    args: unknown,
    options?: { signal?: AbortSignal; progress?: (value: unknown) => void },
  ): Promise<T>;
  close(): Promise<void>;
  /** Resolves with the error when the thread died by itself. */
  readonly died: Promise<Error>;
}

/** More than this many units within this time, and they are gathered for a moment. One busy caller alone is below it. */
const BUSY_UNITS = 16;
const BUSY_WINDOW_MS = 5;
const GATHER_MS = 1;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
  progress?: ((value: unknown) => void) | undefined;
}

/** Starts a worker thread that serves `file`. Messages sent before it is up wait in its queue. */
export function startWorker(entry: URL, data: { file: string; mode: "read" | "write" }): WorkerClient {
  const worker = new Worker(entry, { workerData: data, stdout: false, stderr: false });
  const waiting = new Map<number, Waiting>();
  let nextId = 1;
  let queued: Unit[] = [];
  let timer: NodeJS.Timeout | undefined;
  /** When the latest units came, as a ring. */
  const recent = new Array<number>(BUSY_UNITS).fill(Number.NEGATIVE_INFINITY);
  let next = 0;
  let dead: Error | undefined;
  let closing = false;
  let announce: (error: Error) => void;
  const died = new Promise<Error>((resolve) => {
    announce = resolve;
  });
  worker.on("message", (replies: FromWorker[]) => {
    for (const reply of replies) {
      const entry = waiting.get(reply.id);
      if (!entry) continue;
      if ("progress" in reply) {
        entry.progress?.(reply.progress);
        continue;
      }
      waiting.delete(reply.id);
      if (reply.ok) entry.resolve(reply.value);
      else
        entry.reject(
          reply.code ? new JobError(reply.code, reply.message, reply.data) : new Error(reply.message),
        );
    }
  });
  const fail = (error: Error) => {
    dead ??= error;
    for (const entry of waiting.values()) entry.reject(dead);
    waiting.clear();
    if (!closing) announce(dead);
  };
  worker.on("error", (error) => fail(error as Error));
  worker.on("exit", (code) => fail(new Error(`database thread ended with ${code}`)));

  const send = <T>(
    message: (id: number) => ToWorker,
    progress?: (value: unknown) => void,
  ): { id: number; reply: Promise<T> } => {
    const id = nextId++;
    const reply = new Promise<T>((resolve, reject) => {
      if (dead) return reject(dead);
      waiting.set(id, { resolve: resolve as (value: unknown) => void, reject, progress });
      worker.postMessage(message(id));
    });
    return { id, reply };
  };

  const flush = () => {
    timer = undefined;
    const units = queued;
    queued = [];
    worker.postMessage({ id: 0, kind: "units", units } satisfies ToWorker);
  };
  /**
   * A unit goes at once while there are few. Under load it waits a moment for others: one commit, which is one fsync,
   * then serves them all, and the time that saves is far more than the wait.
   */
  const queue = (unit: Unit) => {
    const now = performance.now();
    const busy = now - recent[next]! < BUSY_WINDOW_MS;
    recent[next] = now;
    next = (next + 1) % BUSY_UNITS;
    queued.push(unit);
    if (timer) return;
    if (busy) timer = setTimeout(flush, GATHER_MS);
    else flush();
  };

  return {
    died,
    unit: (statements) =>
      new Promise((resolve, reject) => {
        if (dead) return reject(dead);
        const id = nextId++;
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
        queue({ id, statements });
      }),
    query: (sql, params) => send<Row[]>((id) => ({ id, kind: "query", sql, params })).reply,
    async job<T>(
      name: string,
      args: unknown,
      options: { signal?: AbortSignal; progress?: (value: unknown) => void } = {},
    ) {
      const { id, reply } = send<T>((id) => ({ id, kind: "job", name, args }), options.progress);
      const cancel = () => worker.postMessage({ id, kind: "cancel" } satisfies ToWorker);
      options.signal?.addEventListener("abort", cancel, { once: true });
      try {
        return await reply;
      } finally {
        options.signal?.removeEventListener("abort", cancel);
      }
    },
    async close() {
      closing = true;
      if (timer) {
        clearTimeout(timer);
        flush();
      }
      if (!dead) await send((id) => ({ id, kind: "close" })).reply.catch(() => {});
      await worker.terminate();
    },
  };
}
