import { StartError } from "../../lib/start-error.ts";
import { isDatabaseError } from "./errors.ts";
import type { Link } from "./link.ts";
import { EXIT_CONFIG } from "./schema.ts";

const OLDEST = 14;
const CHECK_MS = 5_000;
/** A Thai word: with the character classes of `C`, it has no letters, and so no trigram. */
const THAI = "สวัสดี";

const refuse = (sentence: string) => new StartError(sentence, EXIT_CONFIG);

/**
 * Checks that the server can hold a store, and prepares what search needs.
 * @param warn gets each setting that makes what is acknowledged less durable than promised, as a sentence
 * @returns the schema in which the extension for search is
 * @throws StartError when it cannot
 */
export async function checkServer(link: Link, warn: (sentence: string) => void): Promise<string> {
  const read = async (text: string) => (await link.run([{ text, values: [] }], CHECK_MS))[0]!.rows[0];
  const facts = (await read(
    `SELECT current_setting('server_version_num')::int / 10000 AS version,
       current_setting('server_version') AS name, current_setting('server_encoding') AS encoding,
       current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages`,
  ))!;
  if (Number(facts.version) < OLDEST) {
    throw refuse(`The store needs Postgres ${OLDEST} or newer, and the server is ${facts.name}.`);
  }
  if (facts.encoding !== "UTF8") {
    throw refuse(
      `The store needs a database with the encoding UTF8, and this one has ${facts.encoding}. Create one with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
    );
  }
  for (const [setting, value] of [
    ["fsync", facts.fsync],
    ["full_page_writes", facts.pages],
  ]) {
    if (value === "off") {
      warn(
        `Postgres runs with ${setting} = off: after a crash of its machine, messages that were acknowledged may be lost or the whole store damaged. Turn it on.`,
      );
    }
  }
  const find = () =>
    read(
      `SELECT n.nspname AS schema FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
       WHERE e.extname = 'pg_trgm'`,
    );
  let extension = await find();
  if (!extension) {
    try {
      await read("CREATE EXTENSION IF NOT EXISTS pg_trgm");
    } catch (error) {
      if (!isDatabaseError(error)) throw error;
      // Another gateway may have created it at the same moment.
      if (!(await find())) {
        throw refuse(
          "The store needs the extension pg_trgm, which this role may not create. Run this in its database as a role that may: CREATE EXTENSION pg_trgm",
        );
      }
    }
    extension = (await find())!;
  }
  const schema = String(extension.schema);
  const trigrams = await read(
    `SELECT cardinality("${schema.replaceAll('"', '""')}".show_trgm('${THAI}')) AS n`,
  );
  if (Number(trigrams!.n) === 0) {
    warn(
      "The database's LC_CTYPE knows only ASCII letters, so a search for Thai, Chinese or Japanese text has to read every message. Create the database with another one, for example LC_CTYPE 'C.UTF-8'.",
    );
  }
  return schema;
}
