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

/** A statement for rows, and the names of its columns. */
interface Reading {
  statement: StatementSync;
  names: readonly string[];
}

/** The module's own row objects cost twice as much as this: they are dictionaries. */
function rowOf(names: readonly string[], values: readonly unknown[]): Row {
  const row: Row = {};
  for (let at = 0; at < names.length; at++) row[names[at]!] = values[at];
  return row;
}

/**
 * Opens `file`. Writers commit with `synchronous=FULL`: in WAL mode that is an fsync before COMMIT returns, so
 * acknowledged data survives a power cut (https://sqlite.org/pragma.html#pragma_synchronous).
 */
export function openConnection(file: string, mode: "read" | "write"): Connection {
  const raw = new DatabaseSync(file, { readOnly: mode === "read" });
  raw.exec("PRAGMA busy_timeout = 5000");
  if (mode === "write") raw.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  raw.exec("PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY");
  const remembered = <T>(make: (sql: string) => T) => {
    const known = new Map<string, T>();
    return (sql: string): T => {
      const before = known.get(sql);
      if (before !== undefined) return before;
      if (known.size >= MAX_STATEMENTS) known.clear();
      const made = make(sql);
      known.set(sql, made);
      return made;
    };
  };
  const prepare = remembered((sql) => raw.prepare(sql));
  const reading = remembered((sql): Reading => {
    const statement = raw.prepare(sql);
    statement.setReturnArrays(true);
    return { statement, names: statement.columns().map(({ name }) => name) };
  });
  return {
    raw,
    prepare,
    all(sql, params = []) {
      const { statement, names } = reading(sql);
      return (statement.all(...params) as unknown as unknown[][]).map((values) => rowOf(names, values));
    },
    get(sql, params = []) {
      const { statement, names } = reading(sql);
      const values = statement.get(...params) as unknown as unknown[] | undefined;
      return values && rowOf(names, values);
    },
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
