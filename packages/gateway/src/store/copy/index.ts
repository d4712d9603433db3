import { createHash } from "node:crypto";
import { cleanText } from "../clean.ts";
import type { Param, Row, Statement } from "../statement.ts";
import type { CopySide } from "./port.ts";
import { COPIED, COPYING, type CopiedTable, isDerived, isOwnMeta, PREFILLED } from "./tables.ts";
import { FIND_UNFINISHED } from "./unfinished.ts";

export { otherSchema } from "./other-schema.ts";
export type { CopySide } from "./port.ts";
export { COPYING } from "./tables.ts";
export { FIND_UNFINISHED, unfinishedCopy } from "./unfinished.ts";

/** A table of both stores at the end of a copy. */
export interface CopiedRows {
  table: string;
  rows: number;
  /** SHA-256 of all rows in their order. */
  checksum: string;
}

/** What keeps a copy from being made, as a sentence. */
export class CopyError extends Error {}

/** How far a copy came. */
interface CopyState {
  /** Name of the source. */
  from: string;
  /** Of the tables, the one that is being copied. */
  table: number;
  /** Key of the last row that was stored. */
  after?: readonly Param[];
}

const PAGE_ROWS = 2_000;
const PAGE_BYTES = 8 * 1024 * 1024;

/** Columns of numbers that may have a fraction. */
const FRACTIONS = new Set(["context_percent"]);

const cleanRow = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      if (typeof value === "string") return [column, cleanText(value)];
      // SQLite took fractions of a millisecond, and earlier versions gave it some.
      return [column, typeof value === "number" && !FRACTIONS.has(column) ? Math.round(value) : value];
    }),
  );
const belongs = ({ name }: CopiedTable, row: Row) => name !== "meta" || !isOwnMeta(row.key);

/** The next rows behind a key, in its order, as many as are good to hold; none at the end. */
async function pageOf(
  side: CopySide,
  { name, key, large }: CopiedTable,
  columns: readonly string[],
  after: readonly Param[] | undefined,
): Promise<Row[]> {
  const order = key.join(", ");
  const behind = after ? `WHERE (${order}) > (${key.map(() => "?").join(", ")})` : "";
  const select = <T = Row>(what: string, limit: number) =>
    side.all<T>(`SELECT ${what} FROM ${name} ${behind} ORDER BY ${order} LIMIT ?`, [...(after ?? []), limit]);
  let limit = PAGE_ROWS;
  if (large !== undefined) {
    const sizes = await select<{ bytes: number | null }>(`octet_length(${large}) AS bytes`, PAGE_ROWS);
    let bytes = 0;
    const upto = sizes.findIndex((row) => {
      bytes += row.bytes ?? 0;
      return bytes > PAGE_BYTES;
    });
    if (upto >= 0) limit = Math.max(1, upto);
  }
  return select(columns.join(", "), limit);
}

/** All rows of a table, some at a time, as any driver stores them. */
async function* pagesOf(
  side: CopySide,
  table: CopiedTable,
  columns: readonly string[],
  from?: readonly Param[],
) {
  for (let after = from; ; ) {
    const rows = await pageOf(side, table, columns, after);
    const last = rows.at(-1);
    if (!last) return;
    after = table.key.map((column) => last[column] as Param);
    yield { rows: rows.filter((row) => belongs(table, row)).map(cleanRow), after };
  }
}

/** The columns that a copy holds, in an order of their own. */
async function columnsOf(source: CopySide, target: CopySide, { name }: CopiedTable): Promise<string[]> {
  const [from, to] = [await source.columns(name), await target.columns(name)];
  const wanted = from.filter((column) => !isDerived(name, column));
  const missing = wanted.find((column) => !to.includes(column));
  if (missing !== undefined) throw new CopyError(`The target has no place for ${name}.${missing}.`);
  return wanted.sort();
}

async function sumOf(side: CopySide, table: CopiedTable, columns: readonly string[]): Promise<CopiedRows> {
  const hash = createHash("sha256");
  let count = 0;
  for await (const { rows } of pagesOf(side, table, columns)) {
    count += rows.length;
    for (const row of rows) hash.update(`${JSON.stringify(columns.map((column) => row[column] ?? null))}\n`);
  }
  return { table: table.name, rows: count, checksum: hash.digest("hex") };
}

const keeping = (state: CopyState): Statement => ({
  sql: "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
  params: [COPYING, JSON.stringify(state)],
});

async function stateOf(source: CopySide, target: CopySide): Promise<CopyState> {
  const [kept] = await target.all<{ value: string }>("SELECT value FROM meta WHERE key = ?", [COPYING]);
  if (kept) {
    const state = JSON.parse(kept.value) as CopyState;
    if (state.from === source.name) return state;
    throw new CopyError(`The target holds part of a copy of ${state.from}; finish that copy, or empty it.`);
  }
  for (const { name } of COPIED) {
    if (name === "meta" || PREFILLED.includes(name)) continue;
    if ((await target.all(`SELECT 1 AS one FROM ${name} LIMIT 1`)).length > 0) {
      throw new CopyError(`The target (${target.name}) is not empty; a copy needs an empty one.`);
    }
  }
  const state = { from: source.name, table: 0 };
  await target.write([
    keeping(state),
    ...PREFILLED.map((name) => ({ sql: `DELETE FROM ${name}`, params: [] })),
  ]);
  return state;
}

async function checkUnused(side: CopySide): Promise<void> {
  if (await side.inUse()) throw new CopyError(`A gateway is running on ${side.name}; stop it first.`);
}

/**
 * Whether a store can be copied; to be asked before there is a target, which would be left behind empty.
 * @throws CopyError
 */
export async function checkSource(source: CopySide): Promise<void> {
  if ((await source.all(FIND_UNFINISHED)).length > 0) {
    throw new CopyError(`${source.name} itself holds only part of a copy.`);
  }
  // What a snapshot holds cannot change any more, and its imports end like those that a crash cut off.
  if (source.frozen) return;
  await checkUnused(source);
  const imports = "SELECT key FROM meta WHERE key >= 'import:' AND key < 'import;' LIMIT 1";
  if ((await source.all(imports)).length > 0) {
    throw new CopyError(
      "An import has not ended. Start the gateway once, so that it ends, and stop it again.",
    );
  }
}

/**
 * Copies every table of a store that no gateway uses, or of a snapshot, and compares both at the end. A copy that was
 * interrupted goes on where it was.
 * @param progress called before each table
 * @throws CopyError
 */
export async function copyStore(
  source: CopySide,
  target: CopySide,
  progress: (table: string) => void = () => {},
): Promise<CopiedRows[]> {
  await checkSource(source);
  await checkUnused(target);
  let state = await stateOf(source, target);
  await target.prepare();
  for (; state.table < COPIED.length; state = { from: source.name, table: state.table + 1 }) {
    const table = COPIED[state.table]!;
    progress(table.name);
    const columns = await columnsOf(source, target, table);
    for await (const { rows, after } of pagesOf(source, table, columns, state.after)) {
      await target.write([...target.inserting(table.name, columns, rows), keeping({ ...state, after })]);
    }
    await target.write([keeping({ from: source.name, table: state.table + 1 })]);
  }
  progress("the indexes");
  await target.complete(await source.highestIds());
  const sums: CopiedRows[] = [];
  for (const table of COPIED) {
    const columns = await columnsOf(source, target, table);
    const [from, to] = [await sumOf(source, table, columns), await sumOf(target, table, columns)];
    // The highest ids of both are in there.
    const same = from.checksum === to.checksum || table.name === "id_blocks";
    if (from.rows !== to.rows || !same) {
      throw new CopyError(
        `The copy differs from its source in ${table.name} (${to.rows} rows of ${from.rows}); empty the target, and copy again.`,
      );
    }
    sums.push(from);
  }
  await target.write([{ sql: "DELETE FROM meta WHERE key = ?", params: [COPYING] }]);
  return sums;
}
