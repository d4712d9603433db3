import { type Clock, sleep } from "../../lib/clock.ts";
import type { CopySide } from "../copy/port.ts";
import { fold } from "../fold.ts";
import type { Param, Row, Statement } from "../statement.ts";
import { openLink } from "./link.ts";
import { MIGRATIONS } from "./migrations.ts";
import { type PostgresPlace, serverName } from "./place.ts";
import { migrate, schemaOf } from "./schema.ts";
import { checkServer } from "./server.ts";
import { pathOf, settings } from "./settings.ts";
import { numbered } from "./statement-text.ts";

/** Time for the indexes of a large store. */
const LIMIT_MS = 3_600_000;
/** A gateway beats once a second. */
const BEATS_MS = 3_000;
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

/**
 * A schema of Postgres as a side of a copy.
 * @param create makes it if it is not there, and brings it up to date; otherwise it has to be so already
 */
export async function openPostgresSide(
  place: PostgresPlace,
  clock: Clock,
  create: boolean,
): Promise<CopySide> {
  const link = await openLink(place, clock);
  const fail = (sentence: string): never => {
    link.close();
    throw new Error(sentence);
  };
  let path: string;
  try {
    const extension = await checkServer(link, () => {});
    if (create) await migrate(link, place.schema, extension, clock, undefined);
    path = pathOf(place.schema, extension);
  } catch (error) {
    link.close();
    throw error;
  }
  const { version } = await schemaOf(link, place.schema);
  if (version === 0) fail(`There is no store in the schema ${place.schema} of ${serverName(place)}.`);
  if (version !== MIGRATIONS.length) {
    fail(`The store has schema ${version}; start this version of the gateway with it once.`);
  }
  const run = async (statements: readonly Statement[]) =>
    (
      await link.run(
        [
          { text: "BEGIN", values: [] },
          settings(path, LIMIT_MS),
          ...statements.map(({ sql, params }) => ({ text: numbered(sql), values: params })),
          { text: "COMMIT", values: [] },
        ],
        LIMIT_MS,
      )
    ).slice(2, -1);
  const all = async (text: string, params: readonly Param[] = []) =>
    (await run([{ sql: text, params }]))[0]!.rows;
  const beats = async () => JSON.stringify(await all("SELECT boot_id, counter FROM nodes ORDER BY boot_id"));
  return {
    name: `${serverName(place)}, schema ${place.schema}`,
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
          sql: "UPDATE id_blocks SET reserved = greatest(reserved, ?, (SELECT max(id) FROM messages)) WHERE name = 'message'",
          params: [highest.messages ?? 0],
        },
      ]);
    },
    async inUse() {
      const before = await beats();
      if (before === "[]") return false;
      await sleep(clock, BEATS_MS);
      return (await beats()) !== before;
    },
    close: async () => link.close(),
  };
}
