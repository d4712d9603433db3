import { systemClock } from "../../lib/clock.ts";
import { inspectPostgres, type PostgresFacts, type PostgresPlace } from "../../store/index.ts";
import { type Check, fail, ok, warn } from "./types.ts";

const NAME = "database";
/** Transactions of a gateway end within a minute. */
const LONG_SECONDS = 300;

function schemaCheck({ schema, known, unfinished, held }: PostgresFacts): Check {
  const name = "database schema";
  const { version, oldest } = schema;
  if (held)
    return warn(name, "It is being copied, restored or changed.", "Wait for the end of that command.");
  if (unfinished) {
    return fail(
      name,
      "It holds only part of a copy.",
      "Run the same `store copy` or `backup restore` again until it ends.",
    );
  }
  if (version === 0) return ok(name, "none yet; the first start creates it");
  if (oldest > known) {
    return fail(
      name,
      `The store allows schema ${oldest} and newer, and this gateway knows schema ${known}.`,
      "Update the gateway.",
    );
  }
  return ok(name, version < known ? `${version}; the next start brings it to ${known}` : String(version));
}

function lockCheck({ waiting, oldestSeconds }: PostgresFacts): Check {
  const name = "database locks";
  const waits = `${waiting} ${waiting === 1 ? "session waits" : "sessions wait"} for a lock`;
  if (waiting > 0 && oldestSeconds > LONG_SECONDS) {
    return warn(
      name,
      `${waits}, and a transaction has been open for ${oldestSeconds} s.`,
      "Find it in pg_stat_activity, and end it with pg_terminate_backend.",
    );
  }
  return ok(name, waiting > 0 ? waits : "nobody waits");
}

/** Checks a store on Postgres: the server, its settings, the schema, and who waits. No password shows. */
export async function checkPostgres(
  place: PostgresPlace,
): Promise<{ checks: Check[]; cutOffTurns?: number }> {
  let facts: PostgresFacts;
  try {
    facts = await inspectPostgres(place, systemClock);
  } catch (error) {
    const fix = "Start the server, or correct gateway.store or GATEWAY_STORE_URL.";
    return { checks: [fail(NAME, (error as Error).message, fix)] };
  }
  if (facts.refusal !== null)
    return { checks: [fail(NAME, facts.refusal, "Use another server or database.")] };
  const url = new URL(place.url);
  const where = `${url.searchParams.get("host") ?? url.host}${url.pathname}`;
  const fix = 'See "Postgres as the store" in docs/OPERATIONS.md.';
  const checks = [
    ok(NAME, `Postgres ${facts.version} at ${where}, schema ${place.schema}`),
    ...(facts.extensionProblem === null ? [] : [fail("database search", facts.extensionProblem, fix)]),
    ...facts.warnings.map((sentence) => warn("database settings", sentence, fix)),
    schemaCheck(facts),
    lockCheck(facts),
  ];
  return { checks, cutOffTurns: facts.cutOffTurns };
}
