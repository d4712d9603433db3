import { type Clock, sleep } from "../../lib/clock.ts";
import type { StatementResult } from "../statement.ts";
import type { PostgresStatement } from "./batch.ts";
import { type Link, LinkError, openLink } from "./link.ts";
import { type PostgresPlace, schemaName } from "./place.ts";
import { away, isLost } from "./problems.ts";

/** What a connection is used for. Each use has its share of the pool, so that none waits for another. */
export type Lane = "renewals" | "units" | "short" | "long";

/** How long the server works on a statement, by what it is for. */
export const LIMITS_MS: Readonly<Record<Lane, number>> = {
  renewals: 2_000,
  units: 5_000,
  short: 5_000,
  long: 60_000,
};
/** No answer so long after its limit: the server or the way to it stands still. */
const SILENCE_MS = 1_000;
/** Whoever waits for a connection, or for an answer to something short, gives up then. */
export const PATIENCE_MS = 4_500;
/** An attempt gets this much time, however late it is. */
const MIN_MS = 500;
/** While long work is under way, the server is asked for a sign of life when nothing was heard of it for this time. */
const QUIET_MS = PATIENCE_MS - 1_500;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** What the server keeps refusing is told again only after it did not for so long. */
const TOLD_MS = 60_000;
/** A connection is closed after this time, with all that the server keeps for it: plans age while tables grow. */
const LIFETIME_MS = 900_000;

export interface RunOptions {
  /** Cancels the work in the server. */
  signal?: AbortSignal | undefined;
  /** Changes nothing, so that it may be run again when the connection breaks. */
  reads?: boolean;
  /** When to give up, by the clock's `elapsed`. */
  deadline?: number;
}

type Run = (statements: readonly PostgresStatement[]) => Promise<StatementResult[]>;

export interface Pool {
  /** Runs the statements as one transaction on a connection of the lane. `BEGIN` and `COMMIT` come from the caller. */
  run(lane: Lane, statements: readonly PostgresStatement[], options?: RunOptions): Promise<StatementResult[]>;
  /**
   * A transaction of several steps, each with the time limit of long work. It has a connection of its own, beside those
   * of the lanes, so that nobody waits for it; what `use` begins and does not commit is undone.
   */
  apart(use: (run: Run) => Promise<void>): Promise<void>;
  /** Whether the server answered last, and let us use our tables. */
  readonly ok: boolean;
  /** When it stopped answering, by the clock's `elapsed`. */
  readonly awaySince: number | undefined;
  close(): void;
}

const shares = (size: number): Record<Lane, number> => {
  const long = Math.max(1, Math.floor(size * 0.3));
  return { renewals: 1, units: 1, long, short: Math.max(1, size - 2 - long) };
};

/** Waits that grow, each of another length, so that gateways do not come back all at once. */
export const pause = (attempt: number, random: () => number = Math.random): number =>
  Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt) * (0.5 + random() / 2);

interface Share {
  most: number;
  open: number;
  idle: Link[];
  waiting: Array<() => void>;
}

/** @param warn gets what is wrong with the server, as sentences */
export function createPool(place: PostgresPlace, clock: Clock, warn: (sentence: string) => void): Pool {
  const lanes = Object.fromEntries(
    Object.entries(shares(place.poolSize)).map(([lane, most]) => [
      lane,
      { most, open: 0, idle: [], waiting: [] } satisfies Share,
    ]),
  ) as unknown as Record<Lane, Share>;
  const apart = new Set<Link>();
  let awaySince: number | undefined;
  let heardAt = clock.elapsed();
  let closed = false;

  /** The server is there, but our tables are not, or not for us. */
  let lost = false;
  let lostAt = Number.NEGATIVE_INFINITY;
  const answered = (fromTables: boolean) => {
    heardAt = clock.elapsed();
    if (fromTables) lost = false;
    if (!lost) awaySince = undefined;
  };
  const silent = () => {
    awaySince ??= clock.elapsed();
  };

  const refused = ({ message }: Error) => {
    if (clock.elapsed() - lostAt > TOLD_MS)
      warn(
        `The store (${schemaName(place)}) cannot be used any more: ${message}. The gateway goes on as soon as its tables are there and its role may use them.`,
      );
    lostAt = clock.elapsed();
    lost = true;
    silent();
  };

  const release = (share: Share, link: Link) => {
    const old = clock.elapsed() - link.since > LIFETIME_MS;
    if (link.broken || closed || old) {
      if (!link.broken) link.close();
      share.open--;
    } else share.idle.push(link);
    share.waiting.shift()?.();
  };

  const connect = async (share: Share, deadline: number): Promise<Link> => {
    share.open++;
    for (let attempt = 0; ; attempt++) {
      try {
        const left = Math.max(MIN_MS, deadline - clock.elapsed());
        const link = await openLink(place, clock, left);
        answered(false);
        return link;
      } catch (error) {
        silent();
        const wait = pause(attempt);
        if (closed || clock.elapsed() + wait > deadline) {
          share.open--;
          share.waiting.shift()?.();
          throw new LinkError(false, error);
        }
        await sleep(clock, wait);
      }
    }
  };

  const take = async (share: Share, deadline: number): Promise<Link> => {
    for (;;) {
      if (closed) throw new Error("The store is closed.");
      const link = share.idle.pop();
      if (link && !link.broken) return link;
      if (link) {
        share.open--;
        continue;
      }
      if (share.open < share.most) return connect(share, deadline);
      await new Promise<void>((resolve, reject) => {
        const entry = () => {
          giveUp();
          resolve();
        };
        const giveUp = clock.after(deadline - clock.elapsed(), () => {
          share.waiting = share.waiting.filter((other) => other !== entry);
          reject(away());
        });
        share.waiting.push(entry);
      });
    }
  };

  /** Breaks the connection of long work once the server stands still, which its own limit would show far too late. */
  const watch = (link: Link) => {
    const began = clock.elapsed();
    let ended = false;
    let cancel = () => {};
    const look = () => {
      const quiet = clock.elapsed() - Math.max(heardAt, began);
      if (quiet < QUIET_MS) cancel = clock.after(QUIET_MS - quiet, look);
      else void ask();
    };
    const ask = async () => {
      const asked = clock.elapsed();
      const deadline = asked + PATIENCE_MS - QUIET_MS;
      await run("short", [{ text: "SELECT 1", values: [] }], { deadline }).catch(() => {});
      if (ended) return;
      if (heardAt < asked) link.break();
      else look();
    };
    look();
    return () => {
      ended = true;
      cancel();
    };
  };

  const runOn = async (
    link: Link,
    lane: Lane,
    statements: readonly PostgresStatement[],
    signal: AbortSignal | undefined,
    deadline: number,
  ) => {
    let cancelled = false;
    const cancel = () => {
      cancelled = true;
      link.cancel();
    };
    signal?.addEventListener("abort", cancel, { once: true });
    const unwatch = lane === "long" ? watch(link) : undefined;
    const limit =
      lane === "long" ? LIMITS_MS.long + SILENCE_MS : Math.max(MIN_MS, deadline - clock.elapsed());
    try {
      const results = await link.run(statements, limit, lane === "long" ? undefined : "kept");
      // A mere sign of life says nothing of the tables.
      answered(statements.length > 1);
      return results;
    } catch (error) {
      if (isLost(error)) refused(error);
      if (error instanceof LinkError) silent();
      else heardAt = clock.elapsed();
      if (!(error instanceof LinkError) && !cancelled && statements[0]!.text === "BEGIN")
        await link.run([{ text: "ROLLBACK", values: [] }], limit);
      signal?.throwIfAborted();
      throw error;
    } finally {
      unwatch?.();
      signal?.removeEventListener("abort", cancel);
      // The server may hear of it only now, and would cancel whatever comes next.
      if (cancelled) link.close();
    }
  };

  const run: Pool["run"] = async (
    lane,
    statements,
    { signal, reads = false, deadline = clock.elapsed() + PATIENCE_MS } = {},
  ) => {
    const share = lanes[lane];
    for (let again = false; ; again = true) {
      signal?.throwIfAborted();
      const link = await take(share, deadline);
      try {
        signal?.throwIfAborted();
        return await runOn(link, lane, statements, signal, deadline);
      } catch (error) {
        // An idle connection may have been closed by whoever stands between, long before this.
        if (!(error instanceof LinkError && reads) || again || closed) throw error;
        if (clock.elapsed() >= deadline) throw error;
      } finally {
        release(share, link);
      }
    }
  };

  return {
    run,
    async apart(use) {
      if (closed) throw new Error("The store is closed.");
      const link = await openLink(place, clock).catch((error) => {
        throw new LinkError(false, error);
      });
      apart.add(link);
      try {
        if (closed) throw new Error("The store is closed.");
        await use((statements) => link.run(statements, LIMITS_MS.long + SILENCE_MS));
      } finally {
        apart.delete(link);
        link.close();
      }
    },
    get ok() {
      return awaySince === undefined;
    },
    get awaySince() {
      return awaySince;
    },
    close() {
      closed = true;
      for (const link of apart) link.close();
      for (const share of Object.values(lanes)) {
        for (const link of share.idle.splice(0)) link.close();
        for (const wake of share.waiting.splice(0)) wake();
      }
    },
  };
}
