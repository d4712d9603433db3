import { DatabaseSync } from "node:sqlite";

/** What an examination of the database found. */
export interface StoreFacts {
  /** Tables there are, and how many of them were checked within the time limit. */
  tables: number;
  checked: number;
  /** The first problem found. */
  problem: string | null;
  /** Unix milliseconds of the latest activity in any session. */
  newest: number | null;
  /** Turns that are recorded as running. */
  runningTurns: number;
}

/**
 * Examines the database without changing it, whether or not a gateway uses it.
 * @param budgetMs checking stops before the next table once this is used up
 */
export function inspectStore(file: string, budgetMs: number): StoreFacts {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 2000 });
  try {
    const deadline = performance.now() + budgetMs;
    const tables = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
      .all();
    let checked = 0;
    let problem: string | null = null;
    for (const { name } of tables) {
      if (performance.now() > deadline || problem !== null) break;
      const row = db.prepare(`PRAGMA quick_check("${String(name).replaceAll('"', '""')}")`).get();
      if (row && row.quick_check !== "ok") problem = String(row.quick_check);
      checked++;
    }
    const one = (sql: string) => Object.values(db.prepare(sql).get() ?? {})[0];
    const newest = one("SELECT max(last_activity) FROM sessions");
    return {
      tables: tables.length,
      checked,
      problem,
      newest: newest === null ? null : Number(newest),
      runningTurns: Number(one("SELECT count(*) FROM turns WHERE state = 'running'")),
    };
  } finally {
    db.close();
  }
}
