import { type Clock, sleep } from "../../lib/clock.ts";
import type { Param, Row, Statement, StatementResult } from "../statement.ts";
import type { FromWorker, OpenFile, ToWorker, Unit } from "./protocol.ts";
import { JobError } from "./protocol.ts";

export interface WorkerClient {
  unit(statements: readonly Statement[]): Promise<StatementResult[]>;
  query(sql: string, params: readonly Param[]): Promise<Row[]>;
  job<T>(
    name: string,
    args: unknown,
    options?: { signal?: AbortSignal; progress?: (value: unknown) => void },
  ): Promise<T>;
  /**
   * Accepts nothing more. Resolves when the accepted work is done and the thread has ended, or after `CLOSE_MS`, when
   * the thread is terminated and the rest rejects.
   */
  close(): Promise<void>;
  /** Resolves with the error when the thread has died unexpectedly. */
  readonly died: Promise<Error>;
}

/** With more than this many units in this time, units are batched. One busy caller alone stays below it. */
const BUSY_UNITS = 16;
const BUSY_WINDOW_MS = 5;
const GATHER_MS = 1;
/** A close that takes longer is given up: a disk that hangs must not keep the process from ending. */
const CLOSE_MS = 700;

const CLOSED = () => new Error("The database is closed.");

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
  progress?: ((value: unknown) => void) | undefined;
}

/** The part of a worker thread that is used here. */
export interface Thread {
  postMessage(message: ToWorker | OpenFile): void;
  on(event: "message", listener: (replies: FromWorker[]) => void): unknown;
  on(event: "error", listener: (error: unknown) => void): unknown;
  on(event: "exit", listener: (code: number) => void): unknown;
  terminate(): Promise<unknown>;
}

/** Lets a thread serve `file`. Messages sent before it is ready wait in its queue. */
export function serveFile(
  thread: Thread,
  { file, mode }: Omit<OpenFile, "kind">,
  clock: Clock,
): WorkerClient {
  thread.postMessage({ kind: "open", file, mode });
  return createWorkerClient(thread, clock);
}

/** Talks to a worker thread: every accepted unit is answered, or rejected when the thread is gone. */
export function createWorkerClient(worker: Thread, clock: Clock): WorkerClient {
  const waiting = new Map<number, Waiting>();
  let nextId = 1;
  let queued: Unit[] = [];
  let cancelTimer: (() => void) | undefined;
  /** Arrival times of the latest units, as a ring. */
  const recent = new Array<number>(BUSY_UNITS).fill(Number.NEGATIVE_INFINITY);
  let next = 0;
  let dead: Error | undefined;
  let closing = false;
  let closed: Promise<void> | undefined;
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
    cancelTimer?.();
    queued = [];
    dead ??= error;
    for (const entry of waiting.values()) entry.reject(dead);
    waiting.clear();
    if (!closing) announce(dead);
  };
  worker.on("error", (error) => fail(error as Error));
  worker.on("exit", (code) => fail(new Error(`database thread exited with code ${code}`)));

  /** A message that cannot be posted rejects only its own caller. */
  const post = (message: ToWorker, ids: readonly number[]) => {
    try {
      worker.postMessage(message);
    } catch (error) {
      for (const id of ids) {
        waiting.get(id)?.reject(error as Error);
        waiting.delete(id);
      }
    }
  };
  const send = <T>(
    message: (id: number) => ToWorker,
    progress?: (value: unknown) => void,
  ): { id: number; reply: Promise<T> } => {
    const id = nextId++;
    const reply = new Promise<T>((resolve, reject) => {
      const refused = dead ?? (closing ? CLOSED() : undefined);
      if (refused) return reject(refused);
      waiting.set(id, { resolve: resolve as (value: unknown) => void, reject, progress });
      post(message(id), [id]);
    });
    return { id, reply };
  };

  const flush = () => {
    cancelTimer = undefined;
    const units = queued;
    queued = [];
    post(
      { id: 0, kind: "units", units },
      units.map(({ id }) => id),
    );
  };
  /**
   * While there are few units, each is sent at once. Under load, a unit waits a moment for others: one commit, and so
   * one fsync, then serves them all, which saves far more time than the wait costs.
   */
  const queue = (unit: Unit) => {
    const now = performance.now();
    const busy = now - recent[next]! < BUSY_WINDOW_MS;
    recent[next] = now;
    next = (next + 1) % BUSY_UNITS;
    queued.push(unit);
    if (cancelTimer) return;
    if (busy) cancelTimer = clock.after(GATHER_MS, flush);
    else flush();
  };

  return {
    died,
    unit: (statements) =>
      new Promise((resolve, reject) => {
        const refused = dead ?? (closing ? CLOSED() : undefined);
        if (refused) return reject(refused);
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
      const cancel = () => post({ id, kind: "cancel" }, []);
      options.signal?.addEventListener("abort", cancel, { once: true });
      try {
        return await reply;
      } finally {
        options.signal?.removeEventListener("abort", cancel);
      }
    },
    close() {
      closed ??= (async () => {
        closing = true;
        if (cancelTimer) {
          cancelTimer();
          flush();
        }
        const id = nextId++;
        const done = new Promise<void>((resolve) => {
          if (dead) return resolve();
          waiting.set(id, { resolve: () => resolve(), reject: () => resolve() });
          post({ id, kind: "close" }, [id]);
        });
        await Promise.race([done, sleep(clock, CLOSE_MS)]);
        // A thread inside a system call does not end before the call returns.
        await Promise.race([worker.terminate(), sleep(clock, CLOSE_MS)]);
        fail(CLOSED());
      })();
      return closed;
    },
  };
}
