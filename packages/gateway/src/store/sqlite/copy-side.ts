import type { DatabaseSync } from "node:sqlite";
import type { CopySide } from "../copy/index.ts";
import { otherSchema } from "../copy/index.ts";
import type { Param, Row } from "../statement.ts";
import { openConnection } from "./connection.ts";
import { MIGRATIONS } from "./migrations.ts";
import { inTransaction, migrate, schemaOf } from "./schema.ts";

/**
 * The database of a home, whose lock the caller holds, as a side of a copy.
 * @param create makes it if it is not there, and brings it up to date; otherwise it has to be so already
 * @param frozen for a snapshot of a database that a gateway was using
 */
export function openSqliteSide(file: string, create: boolean, frozen = false): CopySide {
  const connection = openConnection(file, "write");
  const db: DatabaseSync = connection.raw;
  if (create) migrate(db);
  const { version } = schemaOf(db);
  if (version !== MIGRATIONS.length) {
    connection.close();
    throw new Error(otherSchema("database", version, MIGRATIONS.length));
  }
  if (frozen) joinImports(db);
  const all = (text: string, params: readonly Param[] = []) => db.prepare(text).all(...params) as Row[];
  return {
    name: "sqlite",
    frozen,
    all: async <T>(text: string, params?: readonly Param[]) => all(text, params) as T[],
    async write(statements) {
      inTransaction(db, () => {
        for (const { sql, params } of statements) connection.prepare(sql).run(...params);
      });
    },
    columns: async (table) => all(`PRAGMA table_info(${table})`).map(({ name }) => String(name)),
    highestIds: async () =>
      Object.fromEntries(
        all("SELECT name, seq FROM sqlite_sequence").map(({ name, seq }) => [name, Number(seq)]),
      ),
    inserting: (table, columns, rows) => {
      const text = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
      return rows.map((row) => ({
        sql: text,
        params: columns.map((column) => (row[column] ?? null) as Param),
      }));
    },
    prepare: async () => {},
    async complete(highest) {
      const own = new Set(
        all("SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'").map(({ name }) =>
          String(name),
        ),
      );
      inTransaction(db, () => {
        for (const [table, id] of Object.entries(highest)) {
          if (!own.has(table)) continue;
          const changed = db
            .prepare("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?")
            .run(id, table);
          if (changed.changes === 0) {
            db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(table, id);
          }
        }
      });
    },
    // Whoever opens it has made sure.
    inUse: async () => false,
    close: async () => connection.close(),
  };
}

/** Chats of imports that were cut off, which only SQLite stages in two ways, become of the one that every driver has. */
function joinImports(db: DatabaseSync): void {
  db.exec(
    "UPDATE chats SET agent_id = 'import:' || substr(agent_id, 9) WHERE agent_id >= 'import+:' AND agent_id < 'import+;'",
  );
}
