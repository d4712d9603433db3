import type { Clock } from "../../lib/clock.ts";
import type { PostgresStatement } from "./batch.ts";
import { type PostgresPlace, schemaName } from "./place.ts";
import { reach } from "./reach.ts";
import { pathOf, settings } from "./settings.ts";

/** Of `pg_advisory_xact_lock`: whoever fills or changes a schema, or builds one of its indexes, keeps others away. */
export const LOCKS = { whole: 0x61676370, index: 0x61676978 };
const ASK_MS = 5_000;
/** So that the lock of a process whose machine died is given up. */
const SILENT_MS = 300_000;
const PING_MS = 30_000;
/** Needs no snapshot, and ends the statement before it, whose own would be waited for by whoever builds an index. */
const PING = { text: "SHOW transaction_isolation", values: [] };

/** Keeps everyone else who wants to fill or change a schema away, until it is released or the process ends. */
export interface Hold {
  /** The connection that holds it is gone: another may have it by now. */
  readonly lost: boolean;
  release(): void;
}

/** Answers whether nobody has the hold on a schema, in a transaction of its own. */
export const isFree = (schema: string): PostgresStatement => ({
  text: "SELECT pg_try_advisory_xact_lock_shared($1, hashtext($2))::text AS free",
  values: [LOCKS.whole, schema],
});

/**
 * Takes a hold on a schema, which need not exist: an open transaction on a connection of its own, because locks of a
 * session do not survive a pooler. Undefined while another process has it.
 */
export async function tryHold(
  place: PostgresPlace,
  clock: Clock,
  what: keyof typeof LOCKS,
): Promise<Hold | undefined> {
  const link = await reach(place, clock);
  const take = { text: "SELECT pg_try_advisory_xact_lock($1, hashtext($2))::text AS got" };
  try {
    const results = await link.run(
      [
        { text: "BEGIN", values: [] },
        settings(pathOf(place.schema, place.schema), SILENT_MS),
        { ...take, values: [LOCKS[what], place.schema] },
        PING,
      ],
      ASK_MS,
    );
    if (results[2]!.rows[0]!.got !== "true") {
      link.close();
      return undefined;
    }
  } catch (error) {
    link.close();
    throw error;
  }
  const stop = clock.every(PING_MS, () => {
    // What fails shows in `lost`.
    void link.run([PING], ASK_MS).catch(() => {});
  });
  return {
    get lost() {
      return link.broken;
    },
    release() {
      stop();
      link.close();
    },
  };
}

/** @throws Error with a sentence while another process has the hold on the whole schema */
export async function holdSchema(place: PostgresPlace, clock: Clock): Promise<Hold> {
  const hold = await tryHold(place, clock, "whole");
  if (hold) return hold;
  throw new Error(`Another copy, restore or change of ${schemaName(place)} is under way; wait for its end.`);
}
