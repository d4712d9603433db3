import { type MessagePort, parentPort, receiveMessageOnPort } from "node:worker_threads";
import { collectWhenIdle } from "../../lib/idle-collect.ts";
import type { Statement, StatementResult } from "../statement.ts";
import { type Connection, openConnection } from "./connection.ts";
import type { FromWorker, Job, JobContext, OpenFile, ToWorker, Unit } from "./protocol.ts";

/** Work for idle moments: one short step inside a transaction; returns true while work is left. */
export type IdleTask = (db: Connection) => boolean;

/** The result of a silent statement: one for all, because a message carries an object only once. */
const NOTHING: StatementResult = { changes: 0, rows: [] };

interface Served {
  jobs: Record<string, Job<never>>;
  idle?: IdleTask;
  /** Called once with the new connection, to define its SQL functions. */
  setup?: (db: Connection) => void;
}

/**
 * Serves one connection from inside a worker thread, to the file that the first message names: units with group
 * commit, queries, and named jobs. `idle` runs in slices while nothing else waits (the search indexer does its work
 * there).
 */
export function serveConnection(options: Served): void {
  const port = parentPort!;
  let serve = (first: unknown) => {
    serve = openFile(port, first as OpenFile, options) as typeof serve;
  };
  port.on("message", (message) => serve(message));
}

/** Opens the file; returns what takes the messages from then on. */
function openFile(port: MessagePort, { file, mode }: OpenFile, options: Served): (message: ToWorker) => void {
  const db = openConnection(file, mode);
  options.setup?.(db);
  const aborts = new Map<number, AbortController>();
  const slices: Array<() => void> = [];
  let scheduled = false;
  let idleTimer: NodeJS.Timeout | undefined;
  let idlePending = options.idle !== undefined;

  const transaction = <T>(work: () => T): T => {
    db.raw.exec(mode === "write" ? "BEGIN IMMEDIATE" : "BEGIN");
    try {
      const value = work();
      db.raw.exec("COMMIT");
      return value;
    } catch (error) {
      if (db.raw.isTransaction) db.raw.exec("ROLLBACK");
      throw error;
    }
  };

  const runUnit = (statements: readonly Statement[]): StatementResult[] =>
    statements.map(({ sql, params, silent }) => {
      if (silent) {
        db.run(sql, params);
        return NOTHING;
      }
      if (/\bRETURNING\b/i.test(sql)) return { changes: 0, rows: db.all(sql, params) };
      return { changes: db.run(sql, params).changes, rows: [] };
    });

  const failure = (id: number, error: unknown): FromWorker => {
    const { message, code, data } = error as { message?: string; code?: string; data?: unknown };
    return {
      id,
      ok: false,
      message: message ?? String(error),
      ...(code && { code }),
      ...(data !== undefined && { data }),
    };
  };

  /** All units commit together; if one fails, each is retried alone, so that only the faulty one fails. */
  const runUnits = (units: readonly Unit[]): FromWorker[] => {
    try {
      return transaction(() =>
        units.map((unit): FromWorker => ({ id: unit.id, ok: true, value: runUnit(unit.statements) })),
      );
    } catch (error) {
      if (units.length === 1) return [failure(units[0]!.id, error)];
      return units.flatMap((unit) => runUnits([unit]));
    }
  };

  const startJob = (id: number, name: string, args: unknown) => {
    const job = options.jobs[name];
    const abort = new AbortController();
    aborts.set(id, abort);
    const context: JobContext = {
      db,
      signal: abort.signal,
      progress: (progress) => port.postMessage([{ id, progress }] satisfies FromWorker[]),
      slice: (work) =>
        new Promise((resolve, reject) => {
          slices.push(() => {
            try {
              resolve(transaction(work));
            } catch (error) {
              reject(error as Error);
            }
          });
          schedule();
        }),
    };
    const run = job ? job(context, args as never) : Promise.reject(new Error(`no job ${name}`));
    run
      .then(
        (value): FromWorker => ({ id, ok: true, value }),
        (error) => failure(id, error),
      )
      .then((reply) => {
        aborts.delete(id);
        port.postMessage([reply]);
        idlePending = options.idle !== undefined;
        schedule();
      });
  };

  let closing: number | undefined;
  /** After everything that arrived earlier is written. */
  const close = (id: number) => {
    for (const abort of aborts.values()) abort.abort();
    clearTimeout(idleTimer);
    db.close();
    port.postMessage([{ id, ok: true, value: null }] satisfies FromWorker[]);
    port.close();
  };

  const handle = (message: ToWorker, units: Unit[], replies: FromWorker[]) => {
    switch (message.kind) {
      case "units":
        units.push(...message.units);
        break;
      case "query":
        try {
          replies.push({ id: message.id, ok: true, value: db.all(message.sql, message.params) });
        } catch (error) {
          replies.push(failure(message.id, error));
        }
        break;
      case "job":
        startJob(message.id, message.name, message.args);
        break;
      case "cancel":
        aborts.get(message.id)?.abort();
        break;
      case "close":
        closing = message.id;
        break;
      default:
        message satisfies never;
    }
  };

  const onMessage = (first: ToWorker) => {
    const units: Unit[] = [];
    const replies: FromWorker[] = [];
    handle(first, units, replies);
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      handle(next.message as ToWorker, units, replies);
    }
    if (units.length > 0) {
      replies.push(...runUnits(units));
      idlePending = options.idle !== undefined;
    }
    if (replies.length > 0) port.postMessage(replies);
    if (closing === undefined) schedule();
    else close(closing);
  };

  /** One slice per turn of the event loop: messages that arrived meanwhile go first. */
  const schedule = () => {
    if (scheduled || !db.raw.isOpen || (slices.length === 0 && !idlePending)) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      if (!db.raw.isOpen) return;
      const slice = slices.shift();
      if (slice) slice();
      else if (idlePending) runIdle();
      schedule();
    });
  };

  const IDLE_DELAY_MS = 100;
  /** Idle work waits a moment after a write, so that it does not slow down a conversation's turns. */
  const runIdle = () => {
    idlePending = false;
    if (idleTimer) return;
    idleTimer = setTimeout(() => {
      idleTimer = undefined;
      const step = () => {
        if (!db.raw.isOpen) return;
        let more = false;
        try {
          more = transaction(() => options.idle!(db));
        } catch {
          // A full disk, for example: the next write triggers another attempt.
        }
        if (more) setImmediate(step);
      };
      step();
    }, IDLE_DELAY_MS);
  };

  collectWhenIdle();
  schedule();
  return onMessage;
}

export type { Connection };
