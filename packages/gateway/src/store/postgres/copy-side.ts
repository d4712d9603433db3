import type { Clock } from "../../lib/clock.ts";
import type { CopySide } from "../copy/index.ts";
import { otherSchema } from "../copy/index.ts";
import { fold } from "../fold.ts";
import type { Param, Row, Statement } from "../statement.ts";
import type { PostgresStatement } from "./batch.ts";
import { isBeating } from "./beating.ts";
import { type Hold, holdSchema } from "./hold.ts";
import type { Link } from "./link.ts";
import { MIGRATIONS } from "./migrations.ts";
import { type PostgresPlace, schemaName, serverName } from "./place.ts";
import { commandError, reach } from "./reach.ts";
import { dropSchema, migrate, schemaOf } from "./schema.ts";
import { checkServer } from "./server.ts";
import { pathOf, settings } from "./settings.ts";
import { numbered } from "./statement-text.ts";

/** Time for the indexes of a large store. */
const LIMIT_MS = 3_600_000;
const SEARCHED = ["message", "chat", "session", "ts", "folded"];
/** Built at the end: maintained row by row, they take most of the time of a copy. */
const BUILT_LAST = ["message_search_text", "message_search_characters"];

/** The statement of the migrations that creates an index. */
const creation = (index: string): string =>
  MIGRATIONS.join(";")
    .split(";")
    .find((statement) => statement.includes(`CREATE INDEX ${index} `))!
    .replace("CREATE INDEX", "CREATE INDEX IF NOT EXISTS");

/** Rows as one parameter. */
const fromJson = (table: string, columns: readonly string[], rows: readonly Row[]): Statement => ({
  sql: `INSERT INTO ${table} (${columns.join(", ")})
    SELECT ${columns.join(", ")} FROM json_populate_recordset(NULL::${table}, ?)`,
  params: [JSON.stringify(rows)],
});

const searchedAs = ({ id, chat, session, ts, content }: Row): Row => ({
  message: id!,
  chat: chat!,
  session: session!,
  ts: ts!,
  folded: fold(String(content)),
});

/** What a side is opened for: to be read, also while gateways use it (`snapshot`), or to be filled (`fresh`: anew). */
export type SideUse = "source" | "snapshot" | "target" | "fresh";

const BEGIN: PostgresStatement = { text: "BEGIN", values: [] };
const SNAPSHOT: PostgresStatement = {
  text: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
  values: [],
};

/** Makes the schema ready for `use`; resolves to the path on which its names are looked up. */
async function ready(link: Link, place: PostgresPlace, clock: Clock, use: SideUse): Promise<string> {
  const extension = await checkServer(link, () => {});
  const path = pathOf(place.schema, extension);
  if (use === "fresh") await dropSchema(link, place.schema);
  if (use === "fresh" || use === "target") await migrate(link, place, extension, clock, undefined);
  // It stays open for as long as the connection: the one transaction that may read for longer than others.
  if (use === "snapshot") await link.run([SNAPSHOT, settings(path, LIMIT_MS)], LIMIT_MS);
  const { version } = await schemaOf(link, place.schema);
  if (version === 0) throw new Error(`There is no store in ${schemaName(place)}.`);
  if (version !== MIGRATIONS.length) throw new Error(otherSchema("store", version, MIGRATIONS.length));
  return path;
}

/** A schema of Postgres as a side of a copy. Except for a snapshot, others are kept away until it is closed. */
export async function openPostgresSide(place: PostgresPlace, clock: Clock, use: SideUse): Promise<CopySide> {
  const hold = use === "snapshot" ? undefined : await holdSchema(place, clock);
  let link: Link | undefined;
  const close = () => {
    link?.close();
    hold?.release();
  };
  try {
    link = await reach(place, clock);
    const path = await ready(link, place, clock, use);
    return { ...sideOver(link, path, place, clock, use === "snapshot", hold), close: async () => close() };
  } catch (error) {
    close();
    throw commandError(place, error);
  }
}

function sideOver(
  link: Link,
  path: string,
  place: PostgresPlace,
  clock: Clock,
  frozen: boolean,
  hold: Hold | undefined,
): Omit<CopySide, "close"> {
  const begin = frozen ? [] : [BEGIN, settings(path, LIMIT_MS)];
  const end = frozen ? [] : [{ text: "COMMIT", values: [] }];
  const run = async (statements: readonly Statement[]) => {
    if (hold?.lost) throw new Error(`The connection to ${serverName(place)} broke; run the command again.`);
    const wanted = statements.map(({ sql, params }) => ({ text: numbered(sql), values: params }));
    const results = await link.run([...begin, ...wanted, ...end], LIMIT_MS).catch((error) => {
      throw commandError(place, error);
    });
    return results.slice(begin.length, begin.length + wanted.length);
  };
  const all = async (text: string, params: readonly Param[] = []) =>
    (await run([{ sql: text, params }]))[0]!.rows;
  return {
    name: schemaName(place),
    frozen,
    all: async <T>(text: string, params?: readonly Param[]) => (await all(text, params)) as T[],
    async write(statements) {
      await run(statements);
    },
    columns: async (table) =>
      (
        await all(
          "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = ? AND table_name = ?",
          [place.schema, table],
        )
      ).map(({ name }) => String(name)),
    async highestIds() {
      const rows = await all(
        "SELECT sequencename AS name, last_value AS id FROM pg_sequences WHERE schemaname = ?",
        [place.schema],
      );
      return Object.fromEntries(
        rows.map(({ name, id }) => [String(name).replace(/_id_seq$/, ""), Number(id ?? 0)]),
      );
    },
    inserting: (table, columns, rows) =>
      rows.length === 0
        ? []
        : [
            fromJson(table, columns, rows),
            ...(table === "messages" ? [fromJson("message_search", SEARCHED, rows.map(searchedAs))] : []),
          ],
    async prepare() {
      await run(BUILT_LAST.map((index) => ({ sql: `DROP INDEX IF EXISTS ${index}`, params: [] })));
    },
    async complete(highest) {
      const sequences = await all("SELECT sequencename AS name FROM pg_sequences WHERE schemaname = ?", [
        place.schema,
      ]);
      const tables = sequences.map(({ name }) => String(name).replace(/_id_seq$/, ""));
      await run([
        ...BUILT_LAST.map((index) => ({ sql: creation(index), params: [] })),
        ...tables.map((table) => ({
          sql: `SELECT setval(pg_get_serial_sequence('${table}', 'id'),
            greatest(?, (SELECT max(id) FROM ${table}), 1))`,
          params: [highest[table] ?? 0],
        })),
        {
          sql: "INSERT INTO meta (key, value) VALUES ('search_unicode', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
          params: [process.versions.unicode ?? ""],
        },
        {
          sql: "UPDATE id_blocks SET reserved = greatest(reserved, ?, (SELECT max(id) FROM messages)) WHERE name = 'message'",
          params: [highest.messages ?? 0],
        },
      ]);
    },
    inUse: () => isBeating(link, place.schema, clock),
  };
}
