import type { Row } from "../statement.ts";
import type { Loss } from "../versions.ts";
import type { PostgresStatement } from "./batch.ts";
import { MIGRATIONS } from "./migrations.ts";
import { setMeta, statementsOf } from "./schema.ts";
import { pathOf, quoted, settings } from "./settings.ts";
import { withinTransaction } from "./steps.ts";

type Run = (...statements: PostgresStatement[]) => Promise<Row[]>;

interface Shape {
  /** Columns with their defaults, by table. */
  tables: Map<string, Map<string, string | null>>;
  /** What each index is created by; not those of constraints. */
  indexes: Map<string, string>;
  /** Names with their parameters. */
  functions: Set<string>;
}

const STEP_MS = 3_600_000;
/** Search derives it again. */
const DERIVED = "message_search";
/** The first migration finds it there. */
const META = "meta";

const plain = (text: string, ...values: PostgresStatement["values"]): PostgresStatement => ({ text, values });

async function shapeOf(run: Run, schema: string): Promise<Shape> {
  const columns = await run(
    plain(
      `SELECT table_name AS "table", column_name AS "column", column_default AS preset
       FROM information_schema.columns WHERE table_schema = $1`,
      schema,
    ),
  );
  const indexes = await run(
    plain(
      `SELECT c.relname AS name, pg_get_indexdef(c.oid) AS sql FROM pg_class c
       JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = $1 AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = c.oid)`,
      schema,
    ),
  );
  const functions = await run(
    plain(
      `SELECT p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')' AS name
       FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1`,
      schema,
    ),
  );
  const shape: Shape = {
    tables: new Map(),
    indexes: new Map(indexes.map(({ name, sql }) => [String(name), String(sql)])),
    functions: new Set(functions.map(({ name }) => String(name))),
  };
  for (const { table, column, preset } of columns) {
    const known = shape.tables.get(String(table)) ?? new Map();
    shape.tables.set(String(table), known.set(String(column), preset as string | null));
  }
  return shape;
}

/** The schema as the gateways of a version know it: built beside the store's own, in the same transaction. */
async function shapeAt(run: Run, schema: string, extension: string, version: number): Promise<Shape> {
  const beside = `${schema.slice(0, 40)}_shape`;
  await run(
    plain(`CREATE SCHEMA ${quoted(beside)}`),
    settings(pathOf(beside, extension), STEP_MS),
    ...MIGRATIONS.slice(0, version).flatMap((step) =>
      statementsOf(withinTransaction(step, beside, extension)),
    ),
  );
  const shape = await shapeOf(run, beside);
  await run(plain(`DROP SCHEMA ${quoted(beside)} CASCADE`), settings(pathOf(schema, extension), STEP_MS));
  const moved = (sql: string) => sql.replaceAll(`${beside}.`, `${schema}.`);
  return { ...shape, indexes: new Map([...shape.indexes].map(([name, sql]) => [name, moved(sql)])) };
}

/** What is stored that a schema has no place for; inside a transaction. */
export async function lossesOf(run: Run, schema: string, extension: string, to: number): Promise<Loss[]> {
  const wanted = await shapeAt(run, schema, extension, to);
  const present = await shapeOf(run, schema);
  const count = async (from: string) => Number((await run(plain(`SELECT count(*) AS n FROM ${from}`)))[0]!.n);
  const losses: Loss[] = [];
  for (const [table, columns] of present.tables) {
    if (table === DERIVED || table === META) continue;
    const kept = wanted.tables.get(table);
    if (!kept) {
      const rows = await count(quoted(table));
      if (rows > 0) losses.push({ table, rows });
      continue;
    }
    for (const [column, preset] of columns) {
      if (kept.has(column)) continue;
      const rows = await count(
        `${quoted(table)} WHERE ${quoted(column)} IS DISTINCT FROM ${preset ?? "NULL"}`,
      );
      if (rows > 0) losses.push({ table, column, rows });
    }
  }
  return losses;
}

/** Takes the schema back to an older version, inside a transaction; {@link lossesOf} says what that discards. */
export async function downgrade(run: Run, schema: string, extension: string, to: number): Promise<void> {
  const wanted = await shapeAt(run, schema, extension, to);
  const present = await shapeOf(run, schema);
  const statements: PostgresStatement[] = [];
  for (const [name, sql] of present.indexes) {
    if (wanted.indexes.get(name) !== sql) statements.push(plain(`DROP INDEX ${quoted(name)}`));
  }
  for (const [table, columns] of present.tables) {
    const kept = wanted.tables.get(table);
    if (table === META) continue;
    if (!kept) statements.push(plain(`DROP TABLE ${quoted(table)}`));
    else {
      for (const column of columns.keys()) {
        if (!kept.has(column)) {
          statements.push(plain(`ALTER TABLE ${quoted(table)} DROP COLUMN ${quoted(column)}`));
        }
      }
    }
  }
  for (const name of present.functions) {
    if (!wanted.functions.has(name)) statements.push(plain(`DROP FUNCTION ${name}`));
  }
  for (const [name, sql] of wanted.indexes) {
    if (present.indexes.get(name) !== sql) statements.push(plain(sql));
  }
  if (!wanted.tables.has(DERIVED)) statements.push(plain("DELETE FROM meta WHERE key = 'search_unicode'"));
  await run(
    ...statements,
    // Without it, every gateway that knows the first schema may use the store, as at the beginning.
    plain("DELETE FROM meta WHERE key = 'oldest'"),
    setMeta("version", String(to)),
  );
}
