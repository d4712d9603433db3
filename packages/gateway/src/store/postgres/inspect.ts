import type { Clock } from "../../lib/clock.ts";
import { FIND_UNFINISHED } from "../copy/index.ts";
import { living } from "./beating.ts";
import { LOCKS } from "./hold.ts";
import { MIGRATIONS } from "./migrations.ts";
import type { PostgresPlace } from "./place.ts";
import { reach } from "./reach.ts";
import { type SchemaState, schemaOf } from "./schema.ts";
import { factsOf, type ServerFacts } from "./server.ts";
import { pathOf, settings } from "./settings.ts";

const READ_MS = 5_000;
/** The schema that has nodes and placements. */
const WITH_OWNERS = 2;

/** What an examination of a store on Postgres found. */
export interface PostgresFacts extends ServerFacts {
  /** Of version 0 where there is no store yet. */
  schema: SchemaState;
  /** The schema that this gateway brings. */
  known: number;
  /** Whether a copy into it, or a restore, was cut off or is under way. */
  unfinished: boolean;
  /** Whether someone fills or changes it at the moment. */
  held: boolean;
  /** Turns that a crash cut off: they run by their rows, and whoever ran them is gone. */
  cutOffTurns: number;
  /** Sessions of the database that wait for a lock, and the seconds of the oldest transaction. */
  waiting: number;
  oldestSeconds: number;
}

/**
 * Looks at a store on Postgres without changing it, whether or not gateways use it.
 * @throws Error with a sentence if it cannot be reached
 */
export async function inspectPostgres(place: PostgresPlace, clock: Clock): Promise<PostgresFacts> {
  const link = await reach(place, clock);
  const read = async (text: string, ...values: (string | number)[]) => {
    const results = await link.run(
      [settings(pathOf(place.schema, place.schema), READ_MS), { text, values }],
      READ_MS,
    );
    return results[1]!.rows;
  };
  const cutOffTurns = async () => {
    const turns = await read(
      `SELECT p.boot_id AS owner FROM turns t LEFT JOIN sessions s ON s.id = t.session
       LEFT JOIN placements p ON p.agent_id = s.agent_id WHERE t.state = 'running'`,
    );
    if (turns.length === 0) return 0;
    const alive = await living(link, place.schema, clock);
    return turns.filter(({ owner }) => owner === null || !alive.has(String(owner))).length;
  };
  try {
    const server = await factsOf(link);
    const schema = await schemaOf(link, place.schema);
    const [activity] = await read(
      `SELECT count(*) FILTER (WHERE wait_event_type = 'Lock') AS waiting,
         coalesce(extract(epoch FROM max(now() - xact_start)), 0)::float8 AS oldest
       FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    const holds = await read(
      `SELECT 1 AS one FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = $1
         AND objid = CAST(CAST(CAST(hashtext($2) AS bit(32)) AS bigint) AS oid)`,
      LOCKS.whole,
      place.schema,
    );
    return {
      ...server,
      schema,
      known: MIGRATIONS.length,
      unfinished: schema.version > 0 && (await read(FIND_UNFINISHED)).length > 0,
      held: holds.length > 0,
      cutOffTurns: schema.version < WITH_OWNERS ? 0 : await cutOffTurns(),
      waiting: Number(activity!.waiting),
      oldestSeconds: Math.round(Number(activity!.oldest)),
    };
  } finally {
    link.close();
  }
}
