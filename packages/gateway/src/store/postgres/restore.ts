import type { Clock } from "../../lib/clock.ts";
import type { CopySide } from "../copy/index.ts";
import { COPYING } from "../copy/index.ts";
import type { PostgresStatement } from "./batch.ts";
import { isBeating } from "./beating.ts";
import { openPostgresSide } from "./copy-side.ts";
import type { Link } from "./link.ts";
import { type PostgresPlace, schemaName } from "./place.ts";
import { commandError, reach } from "./reach.ts";
import { dropSchema, schemaOf } from "./schema.ts";
import { pathOf, quoted, settings } from "./settings.ts";

const LIMIT_MS = 60_000;
const LOCK_MS = 2_000;
/** Names have at most 63 bytes. */
const NAME_BYTES = 40;

const plain = (text: string, ...values: PostgresStatement["values"]): PostgresStatement => ({ text, values });
const renaming = (from: string, to: string) => plain(`ALTER SCHEMA ${quoted(from)} RENAME TO ${quoted(to)}`);
const stamp = (at: number) => new Date(at).toISOString().replace(/\D/g, "").slice(0, 14);

/** A schema that is filled beside the one whose place it will take. */
export interface Staged {
  readonly side: CopySide;
  /**
   * Puts it in place, where no gateway starts on it before `finish`. Resolves to the name under which the schema that
   * stood there is kept; null if there was none.
   */
  swap(): Promise<string | null>;
  finish(): Promise<void>;
  /** Leaves everything as it was; after `swap` too. */
  undo(): Promise<void>;
  close(): Promise<void>;
}

/** What stands where a store shall be. */
async function presentAt(link: Link, schema: string): Promise<"nothing" | "empty" | "something"> {
  const [found] = await link.run(
    [
      plain(
        `SELECT (SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid)
           + (SELECT count(*) FROM pg_proc p WHERE p.pronamespace = n.oid) AS n
         FROM pg_namespace n WHERE n.nspname = $1`,
        schema,
      ),
    ],
    LIMIT_MS,
  );
  const [row] = found!.rows;
  return row === undefined ? "nothing" : Number(row.n) === 0 ? "empty" : "something";
}

async function refuseInUse(link: Link, place: PostgresPlace, clock: Clock): Promise<void> {
  if ((await schemaOf(link, place.schema)).version < 2) return;
  if (await isBeating(link, place.schema, clock)) {
    throw new Error(`A gateway is running on ${schemaName(place)}; stop it first.`);
  }
}

/**
 * Prepares a schema beside the one that `place` names, to be filled from a backup.
 * @param replace whether a schema that holds something may be kept under another name
 * @throws Error with a sentence
 */
export async function stageRestore(place: PostgresPlace, clock: Clock, replace: boolean): Promise<Staged> {
  const staging = `${place.schema.slice(0, NAME_BYTES)}_restoring`;
  const aside = `${place.schema.slice(0, NAME_BYTES)}_before_${stamp(clock.now())}`;
  const link = await reach(place, clock);
  const together = async (...statements: PostgresStatement[]) => {
    await link.run(
      [
        plain("BEGIN"),
        settings(pathOf(staging, staging), LIMIT_MS),
        plain("SELECT set_config('lock_timeout', $1, true)", String(LOCK_MS)),
        ...statements,
        plain("COMMIT"),
      ],
      LIMIT_MS,
    );
  };
  const look = async () => {
    const present = await presentAt(link, place.schema);
    if (present !== "something") return present;
    if (!replace) {
      throw new Error(
        `${schemaName(place, "The")} is not empty; use --force to keep it under another name, or choose another store.`,
      );
    }
    await refuseInUse(link, place, clock);
    return present;
  };
  let side: CopySide;
  try {
    await look();
    side = await openPostgresSide({ ...place, schema: staging }, clock, "fresh");
  } catch (error) {
    link.close();
    throw commandError(place, error);
  }
  let before: "nothing" | "empty" | "something" | undefined;
  return {
    side,
    async swap() {
      const present = await look();
      await together(
        plain(`INSERT INTO meta (key, value) VALUES ('${COPYING}', '{"from":"a backup"}')`),
        ...(present === "empty" ? [plain(`DROP SCHEMA ${quoted(place.schema)}`)] : []),
        ...(present === "something" ? [renaming(place.schema, aside)] : []),
        renaming(staging, place.schema),
      );
      before = present;
      return present === "something" ? aside : null;
    },
    async finish() {
      await link.run([plain(`DELETE FROM ${quoted(place.schema)}.meta WHERE key = '${COPYING}'`)], LIMIT_MS);
    },
    async undo() {
      if (before !== undefined) {
        await together(
          renaming(place.schema, staging),
          ...(before === "something" ? [renaming(aside, place.schema)] : []),
        );
      }
      await dropSchema(link, staging);
    },
    async close() {
      link.close();
      await side.close();
    },
  };
}
