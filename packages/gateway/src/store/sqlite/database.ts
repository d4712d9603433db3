import { stat } from "node:fs/promises";
import type { Worker } from "node:worker_threads";
import type { Clock } from "../../lib/clock.ts";
import { startThread } from "../../lib/thread.ts";
import { FIND_UNFINISHED, unfinishedCopy } from "../copy/index.ts";
import type { Param, Statement, StatementResult } from "../statement.ts";
import { openConnection } from "./connection.ts";
import { copyBefore, sweepCopies } from "./copies.ts";
import { migrate } from "./schema.ts";
import { serveFile, type WorkerClient } from "./worker-client.ts";

export interface Database {
  /**
   * Runs the statements as one transaction in the writer thread and resolves when they are on disk. Units that wait
   * at the same time share one fsync. Rejects, with nothing written, when one of them fails.
   */
  write(...statements: readonly Statement[]): Promise<StatementResult[]>;
  /** Reads synchronously on this thread: for index look-ups that return little. Sees every resolved `write`. */
  all<T>(sql: string, params?: readonly Param[]): T[];
  /** The same for those who do not rely on the answer being there at once. */
  read<T>(sql: string, params?: readonly Param[]): Promise<T[]>;
  /** Reads in the reader thread: for anything that can take more than a millisecond or two. */
  slow<T>(sql: string, params?: readonly Param[]): Promise<T[]>;
  /** Long work in the writer or the reader thread. See {@link Job}. */
  writerJob<T>(name: string, args: unknown, options?: Parameters<WorkerClient["job"]>[2]): Promise<T>;
  readerJob<T>(name: string, args: unknown, options?: Parameters<WorkerClient["job"]>[2]): Promise<T>;
  /** Copies made before a migration are kept for a day from now. */
  started(): void;
  /** Units handed to the writer since the start. */
  readonly units: number;
  /** Resolves when the writer thread has died unexpectedly: nothing can be stored any more. */
  readonly died: Promise<Error>;
  /** False once the writer thread has died. */
  readonly alive: boolean;
  /** Size of the write-ahead log. */
  walBytes(): Promise<number>;
  /** Accepts nothing more; resolves when every accepted unit is on disk or rejected, within 1.5 s. */
  close(): Promise<void>;
}

const READER_IDLE_MS = 60_000;

/**
 * Opens (and creates or migrates) the database file. `gateway` is the version of this gateway, `thread` the writer's if
 * it runs already. The reader thread starts when first needed and ends when idle.
 */
export function openDatabase(file: string, clock: Clock, gateway?: string, thread?: Worker): Database {
  const setup = openConnection(file, "write");
  try {
    migrate(setup.raw, gateway, (version) => copyBefore(setup.raw, file, version));
    if (setup.get(FIND_UNFINISHED)) throw unfinishedCopy();
  } finally {
    setup.close();
  }
  const reads = openConnection(file, "read");
  const writer = serveFile(thread ?? startThread("writer"), { file, mode: "write" }, clock);
  let closing = false;
  let reader: WorkerClient | undefined;
  let readerUsers = 0;
  let units = 0;
  let stopTimer: (() => void) | undefined;

  const withReader = async <T>(use: (client: WorkerClient) => Promise<T>): Promise<T> => {
    if (closing) throw new Error("The database is closed.");
    stopTimer?.();
    if (!reader) {
      const started = serveFile(startThread("reader"), { file, mode: "read" }, clock);
      reader = started;
      void started.died.then(() => {
        if (reader === started) reader = undefined;
      });
    }
    readerUsers++;
    try {
      return await use(reader);
    } finally {
      readerUsers--;
      stopTimer?.();
      if (!closing)
        stopTimer = clock.after(READER_IDLE_MS, () => {
          if (readerUsers > 0) return;
          const idle = reader;
          reader = undefined;
          void idle?.close();
        });
    }
  };

  let stopSweeping = () => {};
  let alive = true;
  void writer.died.then(() => {
    alive = false;
  });
  const db: Database = {
    died: writer.died,
    get alive() {
      return alive;
    },
    walBytes: async () => (await stat(`${file}-wal`).catch(() => undefined))?.size ?? 0,
    started() {
      stopSweeping = sweepCopies(db, file, clock);
    },
    get units() {
      return units;
    },
    write(...statements) {
      units++;
      return writer.unit(statements);
    },
    all: <T>(sql: string, params: readonly Param[] = []) => reads.all(sql, params) as T[],
    read: async <T>(sql: string, params: readonly Param[] = []) => reads.all(sql, params) as T[],
    slow: <T>(sql: string, params: readonly Param[] = []) =>
      withReader((client) => client.query(sql, params)) as Promise<T[]>,
    writerJob: (name, args, options) => writer.job(name, args, options),
    readerJob: (name, args, options) => withReader((client) => client.job(name, args, options)),
    async close() {
      closing = true;
      stopTimer?.();
      stopSweeping();
      await Promise.all([writer.close(), reader?.close()]);
      reads.close();
    },
  };
  return db;
}

/**
 * Ids of messages up to this one may have been given: those reserved, and those of rows that something other than the
 * gateway has stored, of which SQLite itself keeps the highest.
 */
export function givenIds(db: Pick<Database, "all">): number {
  const [row] = db.all<{ upto: number }>(
    `SELECT max(reserved, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0)) AS upto
     FROM id_blocks WHERE name = 'message'`,
  );
  return row!.upto;
}
