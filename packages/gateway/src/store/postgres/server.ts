import { StartError } from "../../lib/start-error.ts";
import { isDatabaseError } from "./errors.ts";
import type { Link } from "./link.ts";
import { EXIT_CONFIG } from "./schema.ts";
import { quoted } from "./settings.ts";

const OLDEST = 14;
const CHECK_MS = 5_000;
/** A Thai word: with the character classes of `C`, it has no letters, and so no trigram. */
const THAI = "สวัสดี";

/** What matters about a server and its database. */
export interface ServerFacts {
  /** As the server tells it. */
  version: string;
  /** Why it cannot hold a store, as a sentence; null if it can. */
  refusal: string | null;
  /** What makes a store less durable or slower than promised, as sentences. */
  warnings: string[];
  /** Schema of the extension for search; undefined where it is not there. */
  extension: string | undefined;
  /** Why it is not there and cannot be created, as a sentence; null if it is, or can be. */
  extensionProblem: string | null;
}

const NOT_INSTALLED =
  "The store needs the extension pg_trgm, which the server does not have. Install it there; it comes with Postgres, or in a package such as postgresql-contrib.";
const NOT_ALLOWED =
  "The store needs the extension pg_trgm, which this role may not create. Run this in its database as a role that may: CREATE EXTENSION pg_trgm";

/** Looks at the server without changing anything. */
export async function factsOf(link: Link): Promise<ServerFacts> {
  const read = async (text: string) => (await link.run([{ text, values: [] }], CHECK_MS))[0]!.rows[0];
  const found = (await read(
    `SELECT current_setting('server_version_num')::int / 10000 AS major,
       current_setting('server_version') AS name, current_setting('server_encoding') AS encoding,
       current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
       (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'pg_trgm') AS extension,
       EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm')::text AS available,
       has_database_privilege(current_database(), 'CREATE')::text AS allowed`,
  ))!;
  const warnings = [
    ["fsync", found.fsync],
    ["full_page_writes", found.pages],
  ].flatMap(([setting, value]) =>
    value === "off"
      ? `Postgres runs with ${setting} = off: after a crash of its machine, messages that were acknowledged may be lost or the whole store damaged. Turn it on.`
      : [],
  );
  const extension = found.extension === null ? undefined : String(found.extension);
  if (extension !== undefined) {
    const trigrams = await read(`SELECT cardinality(${quoted(extension)}.show_trgm('${THAI}')) AS n`);
    if (Number(trigrams!.n) === 0) {
      warnings.push(
        "The database's LC_CTYPE knows only ASCII letters, so a search for Thai, Chinese or Japanese text has to read every message. Create the database with another one, for example LC_CTYPE 'C.UTF-8'.",
      );
    }
  }
  const old = Number(found.major) < OLDEST;
  const refusal = old
    ? `The store needs Postgres ${OLDEST} or newer, and the server is ${found.name}.`
    : found.encoding !== "UTF8"
      ? `The store needs a database with the encoding UTF8, and this one has ${found.encoding}. Create one with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`
      : null;
  const missing = found.available !== "true" ? NOT_INSTALLED : found.allowed === "true" ? null : NOT_ALLOWED;
  const extensionProblem = extension === undefined ? missing : null;
  return { version: String(found.name), refusal, warnings, extension, extensionProblem };
}

/**
 * Checks that the server can hold a store, and prepares what search needs.
 * @param warn gets each of the warnings
 * @returns the schema in which the extension for search is
 * @throws StartError when it cannot
 */
export async function checkServer(link: Link, warn: (sentence: string) => void): Promise<string> {
  let facts = await factsOf(link);
  if (facts.refusal !== null) throw new StartError(facts.refusal, EXIT_CONFIG);
  if (facts.extension === undefined) {
    try {
      await link.run([{ text: "CREATE EXTENSION IF NOT EXISTS pg_trgm", values: [] }], CHECK_MS);
    } catch (error) {
      if (!isDatabaseError(error)) throw error;
    }
    // Also where it failed: another gateway may have created it at the same moment.
    facts = await factsOf(link);
    if (facts.extension === undefined) {
      throw new StartError(facts.extensionProblem ?? NOT_ALLOWED, EXIT_CONFIG);
    }
  }
  for (const sentence of facts.warnings) warn(sentence);
  return facts.extension;
}
