import { type Clock, sleep } from "../../lib/clock.ts";
import { StartError } from "../../lib/start-error.ts";
import type { Row } from "../statement.ts";
import type { PostgresStatement } from "./batch.ts";
import { isDatabaseError } from "./errors.ts";
import { tryHold } from "./hold.ts";
import type { Link } from "./link.ts";
import { MIGRATIONS } from "./migrations.ts";
import type { PostgresPlace } from "./place.ts";
import { pathOf, quoted, settings } from "./settings.ts";
import { indexOf, named } from "./steps.ts";

/** `EX_CONFIG` of sysexits.h. */
export const EXIT_CONFIG = 78;
/** Time for one step on a large store. */
const STEP_MS = 3_600_000;
/** A step that waits for a lock lets others by after this time, and comes again. */
const LOCK_MS = 2_000;
const LOCK_TRIES = 30;
/** Of `pg_advisory_xact_lock`: gateways that update a schema follow one another. */
const LOCK = 0x61677473;

const plain = (text: string, ...values: PostgresStatement["values"]): PostgresStatement => ({ text, values });

/** The statements of a step; none has a semicolon inside. */
export const statementsOf = (step: string): PostgresStatement[] =>
  step
    .split(";")
    .map((text) => text.trim())
    .filter((text) => text !== "")
    .map((text) => plain(text));

/** What a store says about itself. */
export interface SchemaState {
  /** Steps that it has been through; 0 if it is empty. */
  version: number;
  /** The oldest schema whose gateways may use it. */
  oldest: number;
  /** Version of a gateway that may, as far as it is known. */
  gateway: string | undefined;
}

/** Reads the state of a schema, which need not exist. */
export async function schemaOf(link: Link, schema: string): Promise<SchemaState> {
  const meta = `${quoted(schema)}.meta`;
  const [there] = await link.run([plain("SELECT to_regclass($1)::text AS found", meta)], LOCK_MS);
  if (there!.rows[0]!.found === null) return { version: 0, oldest: 0, gateway: undefined };
  const [rows] = await link.run([plain(`SELECT key, value FROM ${meta}`)], LOCK_MS);
  const values = new Map(rows!.rows.map(({ key, value }) => [key, String(value)]));
  return {
    version: Number(values.get("version") ?? 0),
    oldest: Number(values.get("oldest") ?? 1),
    gateway: values.get("oldest_gateway"),
  };
}

export async function dropSchema(link: Link, schema: string): Promise<void> {
  await link.run([plain(`DROP SCHEMA IF EXISTS ${quoted(schema)} CASCADE`)], STEP_MS);
}

/** The statement that stores a value of `meta`. */
export const setMeta = (key: string, value: string): PostgresStatement =>
  plain(
    "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    key,
    value,
  );

const isWaiting = (error: unknown) => isDatabaseError(error) && error.code === "55P03";

/** Runs `work` in a transaction in which no other gateway changes the schema. */
export async function locked(
  link: Link,
  schema: string,
  clock: Clock,
  work: (run: (...statements: PostgresStatement[]) => Promise<Row[]>) => Promise<void>,
): Promise<void> {
  const run = async (...statements: PostgresStatement[]) =>
    (await link.run(statements, STEP_MS)).at(-1)!.rows;
  for (let attempt = 1; ; attempt++) {
    try {
      await run(
        plain("BEGIN"),
        settings(pathOf(schema, schema), STEP_MS),
        plain("SELECT set_config('lock_timeout', $1, true)", String(LOCK_MS)),
        plain("SELECT pg_advisory_xact_lock($1, hashtext($2))", LOCK, schema),
      );
      await work(run);
      await run(plain("COMMIT"));
      return;
    } catch (error) {
      if (!link.broken) await run(plain("ROLLBACK"));
      if (!isWaiting(error) || attempt === LOCK_TRIES) throw error;
      await sleep(clock, LOCK_MS / 10);
    }
  }
}

/**
 * Brings the schema up to date, one transaction per step; what creates an index alone runs outside one. A schema of a
 * newer gateway is left as it is.
 * @param extension schema of the extension for search
 * @param gateway version of this gateway
 * @throws StartError when the store allows only newer gateways
 */
export async function migrate(
  link: Link,
  place: PostgresPlace,
  extension: string,
  clock: Clock,
  gateway: string | undefined,
  steps: readonly string[] = MIGRATIONS,
): Promise<void> {
  const { schema } = place;
  const known = steps.length;
  const { version, oldest, gateway: needed } = await schemaOf(link, schema);
  if (oldest > known) {
    throw new StartError(
      `The store needs ${needed === undefined ? "a newer gateway" : `version ${needed} of the gateway or a newer one`}: it allows schema ${oldest} and newer, and this gateway knows schema ${known}. Update the gateway.`,
      EXIT_CONFIG,
    );
  }
  if (version >= known) return;
  await locked(link, schema, clock, async (run) => {
    const [found] = await run(plain("SELECT to_regnamespace($1)::text AS schema", quoted(schema)));
    await run(
      // Asking for it takes a right on the whole database, even where it is there already.
      ...(found!.schema === null ? [plain(`CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`)] : []),
      plain(`CREATE TABLE IF NOT EXISTS meta (key TEXT COLLATE "C" PRIMARY KEY, value TEXT NOT NULL)`),
    );
  });
  for (let step = version + 1; step <= known; step++) {
    const text = named(steps[step - 1]!, schema, extension);
    const index = indexOf(steps[step - 1]!);
    if (index !== undefined) await buildIndex(link, place, clock, { step, index, text });
    await locked(link, schema, clock, async (run) => {
      const [row] = await run(plain("SELECT value FROM meta WHERE key = 'version'"));
      // Another gateway may have done it meanwhile.
      if (Number(row?.value ?? 0) >= step) return;
      await run(
        settings(pathOf(schema, extension), STEP_MS),
        ...(index === undefined ? statementsOf(text) : []),
        setMeta("version", String(step)),
      );
      if (step === 1 && gateway !== undefined) await run(setMeta("oldest_gateway", gateway));
    });
  }
}

/**
 * Builds the index of a step while others read and write its table; one gateway at a time, which the others ask for
 * without waiting in the database, since the build waits for every statement that runs. What a build that was cut off
 * has left is not valid, and goes first.
 */
async function buildIndex(
  link: Link,
  place: PostgresPlace,
  clock: Clock,
  { step, index, text }: { step: number; index: string; text: string },
): Promise<void> {
  const { schema } = place;
  let hold = await tryHold(place, clock, "index");
  for (; !hold; hold = await tryHold(place, clock, "index")) await sleep(clock, LOCK_MS / 10);
  try {
    if ((await schemaOf(link, schema)).version >= step) return;
    const [found] = await link.run(
      [
        plain(
          `SELECT i.indisvalid::text AS valid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
           JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`,
          schema,
          index,
        ),
      ],
      LOCK_MS,
    );
    const [row] = found!.rows;
    if (row?.valid === "true") return;
    if (row) await link.run([plain(`DROP INDEX CONCURRENTLY ${quoted(schema)}.${quoted(index)}`)], STEP_MS);
    await link.run([plain(text)], STEP_MS);
  } finally {
    hold.release();
  }
}
