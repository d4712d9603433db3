import type { Worker } from "node:worker_threads";
import type { Clock } from "../../lib/clock.ts";
import type { Driver } from "../driver.ts";
import { type Database, givenIds, openDatabase } from "./database.ts";
import { createExports, createImports, createRemoval } from "./moving.ts";
import { createSearch } from "./search/index.ts";

/** The driver over an open database. */
export const sqliteDriver = (db: Database): Driver => ({
  name: "sqlite",
  get ok() {
    return db.alive;
  },
  walBytes: db.walBytes,
  read: (text, params) => db.read(text, params),
  slow: db.slow,
  write: (statements) => db.write(...statements),
  givenIds: givenIds(db),
  search: createSearch(db),
  removal: () => createRemoval(db),
  exports: createExports(db),
  imports: (range) => createImports(db, range),
  started: db.started,
  get units() {
    return db.units;
  },
  died: db.died,
  close: db.close,
});

/**
 * Opens (and creates or migrates) a database file. `gateway` is the version of this gateway, `writer` a thread that was
 * started early.
 */
export const openSqlite = (file: string, clock: Clock, gateway?: string, writer?: Worker): Driver =>
  sqliteDriver(openDatabase(file, clock, gateway, writer));
