import { type Clock, sleep } from "../../lib/clock.ts";
import { StartError } from "../../lib/start-error.ts";
import { FIND_UNFINISHED, unfinishedCopy } from "../copy/index.ts";
import type { Driver } from "../driver.ts";
import type { HistoryFiles } from "../files.ts";
import { isDatabaseError } from "./errors.ts";
import { createExports } from "./exports.ts";
import { isFree } from "./hold.ts";
import { createImports } from "./imports/index.ts";
import { isUnencrypted, type Link, openLink } from "./link.ts";
import { type PostgresPlace, schemaName, serverName } from "./place.ts";
import { createPool, type Lane, LIMITS_MS, type Pool, pause } from "./pool.ts";
import { toldAs } from "./problems.ts";
import { isRefused, reasonOf } from "./reach.ts";
import { createRemoval } from "./removal.ts";
import { EXIT_CONFIG, migrate } from "./schema.ts";
import { createSearch, foldedBy, refold } from "./search/index.ts";
import { checkServer } from "./server.ts";
import { pathOf, settings } from "./settings.ts";
import { createShared, reserveFirst } from "./shared.ts";
import { numbered } from "./statement-text.ts";
import { createUnits } from "./units.ts";
import { createWork } from "./work.ts";

/** `EX_UNAVAILABLE` of sysexits.h. */
const EXIT_UNAVAILABLE = 69;
/** A server that is not there at start may be starting as well. */
const START_MS = 30_000;
const CLOSE_MS = 1_000;
const BEAT_MS = 2_000;
/** By then, a unit whose outcome was unknown has long been settled. */
const UNITS_KEPT_MS = 3_600_000;
const SWEEP_MS = 600_000;

const NO_RIGHT = "42501";
const withoutRights = (place: PostgresPlace, { message }: Error) =>
  new StartError(
    `Postgres (${serverName(place)}) does not let this role use the schema ${place.schema}: ${message}. Let a role that may create it, with this one as its owner: CREATE SCHEMA … AUTHORIZATION …`,
    EXIT_CONFIG,
  );

const held = (place: PostgresPlace) =>
  new StartError(
    `The store (${schemaName(place)}) is being copied, restored or changed at the moment. Start the gateway when that has ended.`,
    EXIT_UNAVAILABLE,
  );

/** The first connection; tried for a while. */
async function firstLink(place: PostgresPlace, clock: Clock): Promise<Link> {
  const deadline = clock.elapsed() + START_MS;
  for (let attempt = 0; ; attempt++) {
    try {
      return await openLink(place, clock);
    } catch (error) {
      const server = serverName(place);
      if (isRefused(error)) {
        throw new StartError(
          `Postgres (${server}) refused the connection: ${error.message}. Check gateway.store.url or GATEWAY_STORE_URL.`,
          EXIT_CONFIG,
        );
      }
      if (isUnencrypted(error)) {
        throw new StartError(
          `Postgres (${server}) does not encrypt connections, as gateway.store.ssl demands. Turn ssl on there, or set gateway.store.ssl to "prefer".`,
          EXIT_CONFIG,
        );
      }
      const wait = pause(attempt);
      if (clock.elapsed() + wait > deadline) {
        throw new StartError(
          `Postgres (${server}) could not be reached for ${START_MS / 1000} seconds: ${reasonOf(error)}. Start it, or correct gateway.store.url or GATEWAY_STORE_URL.`,
          EXIT_UNAVAILABLE,
        );
      }
      await sleep(clock, wait);
    }
  }
}

/** Asks for no row of a table at times, so that its absence, or the server's, shows while nobody else asks. */
function beatEvery(pool: Pool, path: string, clock: Clock): () => void {
  let asking = false;
  const nothing = [
    settings(path, LIMITS_MS.renewals),
    { text: "SELECT 1 FROM units WHERE false", values: [] },
  ];
  return clock.every(BEAT_MS, () => {
    if (asking) return;
    asking = true;
    pool
      .run("renewals", nothing, {
        reads: true,
        deadline: clock.elapsed() + LIMITS_MS.renewals,
      })
      // The pool knows.
      .catch(() => {})
      .finally(() => {
        asking = false;
      });
  });
}

/**
 * Opens a store on Postgres, and creates or migrates its schema.
 * @param gateway version of this gateway
 * @param warn gets what is wrong with the server, as sentences
 * @param files what the history knows about the files of imports and exports
 */
export async function openPostgres(
  place: PostgresPlace,
  clock: Clock,
  gateway: string | undefined,
  warn: (sentence: string) => void,
  files: HistoryFiles,
): Promise<Driver> {
  const first = await firstLink(place, clock);
  let path: string;
  let givenIds: number;
  let isFolded: boolean;
  const { unicode = "" } = process.versions;
  try {
    const extension = await checkServer(first, warn);
    await migrate(first, place, extension, clock, gateway);
    path = pathOf(place.schema, extension);
    const limit = LIMITS_MS.short;
    const found = [
      settings(path, limit),
      { text: FIND_UNFINISHED, values: [] },
      ...foldedBy(unicode),
      isFree(place.schema),
    ];
    const [, unfinished, , folded, free] = await first.run(found, limit);
    if (unfinished!.rows.length > 0) throw unfinishedCopy();
    if (free!.rows[0]!.free !== "true") throw held(place);
    isFolded = folded!.rows[0]?.value === unicode;
    givenIds = await reserveFirst(first, path);
  } catch (error) {
    throw isDatabaseError(error) && error.code === NO_RIGHT ? withoutRights(place, error) : error;
  } finally {
    first.close();
  }
  const pool = createPool(place, clock, warn);
  const units = createUnits(pool, path, clock);
  const work = createWork(pool, path);
  const closing = new AbortController();
  if (!isFolded) void refold(work, clock, closing.signal, unicode);
  const reading =
    (lane: Lane): Driver["read"] =>
    async <T>(text: string, params: readonly (string | number | null)[] = []) => {
      try {
        const results = await pool.run(
          lane,
          [settings(path, LIMITS_MS[lane]), { text: numbered(text), values: params }],
          { reads: true },
        );
        return results[1]!.rows as T[];
      } catch (error) {
        throw toldAs(error);
      }
    };
  const stopBeating = beatEvery(pool, path, clock);
  return {
    name: "postgres",
    get ok() {
      return pool.ok;
    },
    read: reading("short"),
    slow: reading("long"),
    write: units.write,
    givenIds,
    shared: createShared(pool, path),
    search: createSearch(work, clock, closing.signal),
    removal: (asOwner) => createRemoval({ read: reading("short") }, work, asOwner),
    exports: createExports(work, files.format),
    imports: (range, asOwner) => createImports(work, clock, files, { range, asOwner }, closing.signal),
    housekeeping: {
      everyMs: SWEEP_MS,
      statements: () => [
        {
          sql: `DELETE FROM units WHERE at < CAST(extract(epoch FROM now()) * 1000 AS BIGINT) - ${UNITS_KEPT_MS}`,
          params: [],
          silent: true,
        },
      ],
    },
    started() {},
    get units() {
      return units.count;
    },
    died: new Promise(() => {}),
    async close() {
      stopBeating();
      closing.abort();
      await Promise.race([units.idle(), sleep(clock, CLOSE_MS)]);
      units.close();
      pool.close();
    },
  };
}
