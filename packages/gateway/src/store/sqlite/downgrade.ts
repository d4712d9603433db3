import { DatabaseSync } from "node:sqlite";
import type { Loss } from "../versions.ts";
import { BREAKING, MIGRATIONS, UNDO } from "./migrations.ts";
import { inTransaction, schemaOf, setOldest } from "./schema.ts";

interface Shape {
  tables: Map<string, { virtual: boolean; columns: Map<string, string | null> }>;
  /** Indexes and triggers: what each is made by. */
  rest: Map<string, { type: string; sql: string }>;
}

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;

function shapeOf(db: DatabaseSync): Shape {
  const rows = db
    .prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    .all() as Array<{ type: string; name: string; sql: string }>;
  const virtual = rows.filter(({ sql }) => /^CREATE VIRTUAL/i.test(sql)).map(({ name }) => name);
  const isShadow = (name: string) => virtual.some((owner) => name.startsWith(`${owner}_`));
  const shape: Shape = { tables: new Map(), rest: new Map() };
  for (const { type, name, sql } of rows) {
    if (isShadow(name)) continue;
    if (type !== "table") shape.rest.set(name, { type, sql });
    else {
      const columns = db.prepare(`PRAGMA table_xinfo(${quote(name)})`).all() as Array<{
        name: string;
        dflt_value: string | null;
      }>;
      shape.tables.set(name, {
        virtual: virtual.includes(name),
        columns: new Map(columns.map((column) => [column.name, column.dflt_value])),
      });
    }
  }
  return shape;
}

/** The schema as the gateways of a version know it. */
function shapeAt(version: number): Shape {
  const db = new DatabaseSync(":memory:");
  try {
    for (const step of MIGRATIONS.slice(0, version)) db.exec(step);
    return shapeOf(db);
  } finally {
    db.close();
  }
}

const count = (db: DatabaseSync, sql: string) => Number(db.prepare(sql).get()!.n);

/** What is stored that a schema has no place for. What search can derive again does not count. */
export function lossesOf(db: DatabaseSync, to: number): Loss[] {
  const wanted = shapeAt(to);
  const losses: Loss[] = [];
  for (const [table, { virtual, columns }] of shapeOf(db).tables) {
    if (table.startsWith("search_") || virtual) continue;
    const kept = wanted.tables.get(table);
    if (!kept) {
      const rows = count(db, `SELECT count(*) AS n FROM ${quote(table)}`);
      if (rows > 0) losses.push({ table, rows });
      continue;
    }
    for (const [column, preset] of columns) {
      if (kept.columns.has(column) || column.startsWith("indexed_")) continue;
      const held = `SELECT count(*) AS n FROM ${quote(table)} WHERE ${quote(column)} IS NOT ${preset ?? "NULL"}`;
      const rows = count(db, held);
      if (rows > 0) losses.push({ table, column, rows });
    }
  }
  return losses;
}

/** Takes the database back to an older schema, in one transaction; {@link lossesOf} says what that discards. */
export function downgrade(db: DatabaseSync, to: number): void {
  const wanted = shapeAt(to);
  const { version } = schemaOf(db);
  inTransaction(db, () => {
    const present = shapeOf(db);
    for (const [name, { type, sql }] of present.rest) {
      if (wanted.rest.get(name)?.sql !== sql) db.exec(`DROP ${type} ${quote(name)}`);
    }
    for (const [table, { columns }] of present.tables) {
      const kept = wanted.tables.get(table);
      if (!kept) {
        db.exec(`DROP TABLE ${quote(table)}`);
        continue;
      }
      for (const column of columns.keys()) {
        if (!kept.columns.has(column)) db.exec(`ALTER TABLE ${quote(table)} DROP COLUMN ${quote(column)}`);
      }
    }
    for (const [name, { sql }] of wanted.rest) {
      if (present.rest.get(name)?.sql !== sql) db.exec(sql);
    }
    for (let step = version; step > to; step--) db.exec(UNDO[step] ?? "");
    setOldest(db, Math.max(1, ...BREAKING.filter((step) => step <= to)), undefined);
    db.exec(`PRAGMA user_version = ${to}`);
  });
}
