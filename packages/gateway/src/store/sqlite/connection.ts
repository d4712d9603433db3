import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Param, Row } from "../statement.ts";

/** A connection that caches its prepared statements. Belongs to one thread. */
export interface Connection {
  readonly raw: DatabaseSync;
  prepare(sql: string): StatementSync;
  all(sql: string, params?: readonly Param[]): Row[];
  get(sql: string, params?: readonly Param[]): Row | undefined;
  run(sql: string, params?: readonly Param[]): { changes: number; lastInsertRowid: number };
  close(): void;
}

const MAX_STATEMENTS = 500;

/**
 * Opens `file`. Writers commit with `synchronous=FULL`: in WAL mode that is an fsync before COMMIT returns, so
 * acknowledged data survives a power cut (https://sqlite.org/pragma.html#pragma_synchronous).
 */
export function openConnection(file: string, mode: "read" | "write"): Connection {
  const raw = new DatabaseSync(file, { readOnly: mode === "read" });
  raw.exec("PRAGMA busy_timeout = 5000");
  if (mode === "write") raw.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  raw.exec("PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY");
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string) => {
    const known = statements.get(sql);
    if (known) return known;
    if (statements.size >= MAX_STATEMENTS) statements.clear();
    const statement = raw.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    raw,
    prepare,
    all: (sql, params = []) => prepare(sql).all(...params) as Row[],
    get: (sql, params = []) => prepare(sql).get(...params) as Row | undefined,
    run(sql, params = []) {
      const statement = prepare(sql);
      // Search tables leave behind row ids beyond 2^53, which would make `run` throw if read as numbers.
      statement.setReadBigInts(true);
      const { changes, lastInsertRowid } = statement.run(...params);
      statement.setReadBigInts(false);
      return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
    },
    close: () => raw.close(),
  };
}
