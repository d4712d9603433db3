import type { Worker } from "node:worker_threads";
import type { Clock } from "../lib/clock.ts";
import { answersOf, type Change, change, statementsOf } from "./change.ts";
import { cleanParams, cleanQuery, cleanStatement, cleanText } from "./clean.ts";
import { type AsOwner, type Claim, type Directory, FencedError } from "./directory.ts";
import type { Driver } from "./driver.ts";
import type { Exports } from "./exports.ts";
import type { HistoryFiles } from "./files.ts";
import { createIds, createSharedIds, type Ids } from "./ids.ts";
import type { Imports } from "./imports.ts";
import { createMeter, type StoreHealth, type StoreMeter } from "./meter.ts";
import type { CopyPlace } from "./moves.ts";
import type { PostgresFacts, PostgresPlace } from "./postgres/index.ts";
import type { Removal } from "./removal.ts";
import type { Search } from "./search.ts";
import {
  createCrons,
  createEvents,
  createHistory,
  createInbox,
  createJobs,
  createLogins,
  createMedia,
  createMessages,
  createOutbox,
  createPositions,
  createSessions,
  createShares,
  createTraces,
  createTurns,
  createUsage,
  type Events,
  type Inbox,
  isEvent,
  type Logins,
  type MediaReferences,
  type Outbox,
  type Positions,
  type Sql,
  type StoredCrons,
  type StoredHistory,
  type StoredJobs,
  type StoredMessages,
  type StoredSessions,
  type StoredShares,
  type StoredTurns,
  type StoredUsage,
  type Traces,
} from "./sql/index.ts";
import type { StoreFacts } from "./sqlite/index.ts";
import type { Param } from "./statement.ts";
import type { StoreVersions } from "./versions.ts";

export type { Change } from "./change.ts";
export {
  type Claim,
  type Directory,
  FencedError,
  type NodeEntry,
  type Placement,
  type SeenNode,
} from "./directory.ts";
export type { ExportedMessage } from "./exports.ts";
export { cannotStoreNow, UnsettledError } from "./failure.ts";
export type { HistoryFiles } from "./files.ts";
export {
  IMPORT_FAILED,
  type ImportedLine,
  type ImportedMessage,
  type ImportResult,
  type ImportState,
} from "./imports.ts";
export {
  type CopiedRows,
  type CopyPlace,
  copyBetween,
  type RestoredStore,
  restoreFrom,
  snapshotTo,
} from "./moves.ts";
export type { SearchQuery } from "./search.ts";
export {
  type ChatRow,
  type CronDelivery,
  type DaysQuery,
  type EndedCronRun,
  type EndedJob,
  type EventBounds,
  type EventCondition,
  type EventFilter,
  type Events,
  hasEnded,
  type Inbox,
  type InboxRow,
  isTakenAway,
  type JobRef,
  type ListedSession,
  type MediaReferences,
  type MessageExtra,
  type NewEvent,
  type NewInboxRow,
  type NewMessage,
  type NewOutboxRow,
  type Outbox,
  type OutboxRow,
  type PageQuery,
  type Positions,
  type RunningTurn,
  type RuntimeState,
  type SaidMessage,
  type SessionRow,
  type SessionValues,
  type SharedFile,
  type StoredChat,
  type StoredCron,
  type StoredCronRun,
  type StoredCrons,
  type StoredEvent,
  type StoredHistory,
  type StoredJob,
  type StoredJobs,
  type StoredMessage,
  type StoredMessages,
  type StoredPage,
  type StoredPlace,
  type StoredSessions,
  type StoredShare,
  type StoredShares,
  type StoredTurns,
  type StoredUsage,
  type TracedInbox,
  type TracedOutbox,
  type TracedTurn,
  type Traces,
  type UsageEntry,
  type UsageFilter,
  type UsageGroup,
  type UsageSum,
  waitsNoMore,
} from "./sql/index.ts";
export type { Loss, StoreVersions } from "./versions.ts";
export type { PostgresFacts, PostgresPlace, StoreFacts };

/** What each change of a commit answers. */
export type Answers<C extends readonly Change<unknown>[]> = {
  [K in keyof C]: C[K] extends Change<infer T> ? T : never;
};

/** What can be changed by the owner of an agent alone. */
export interface AgentUnits extends Pick<Store, "commit"> {
  /** False once another gateway may own the agent: looked at before anything that cannot be undone. */
  holds(): boolean;
  /** False, besides, while this gateway cannot see whether others have come: then nothing goes to a provider. */
  reaches(): boolean;
}

/** A store that several gateways use. */
export interface SharedStore {
  readonly directory: Directory;
  /** Sets who knows what this gateway owns; before that, it owns nothing. */
  ownedBy(claimOf: (agentId: string) => Claim | undefined): void;
}

/** Where the rows live. Its repositories read, and make changes that take effect when they are committed. */
export interface Store {
  readonly crons: StoredCrons;
  readonly events: Events;
  readonly ids: Ids;
  readonly logins: Logins;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly history: StoredHistory;
  readonly search: Search;
  readonly media: MediaReferences;
  readonly removal: Removal;
  readonly imports: Imports;
  readonly exports: Exports;
  readonly jobs: StoredJobs;
  readonly messages: StoredMessages;
  readonly positions: Positions;
  readonly sessions: StoredSessions;
  readonly shares: StoredShares;
  readonly traces: Traces;
  readonly usage: StoredUsage;
  readonly turns: StoredTurns;
  /**
   * Makes the changes together or not at all, in their order; resolves, with what each answers, when they are durable.
   * Rejects with nothing changed.
   */
  commit<const C extends readonly Change<unknown>[]>(...changes: C): Promise<Answers<C>>;
  /**
   * Commits what belongs to an agent, for as long as this gateway owns the agent without a break from now on; rejects
   * with {@link FencedError} after that. What lasts, like a turn, keeps what it got at its beginning.
   */
  forAgent(agentId: string): AgentUnits;
  /** Undefined where a store has only one gateway, which owns every agent. */
  readonly shared: SharedStore | undefined;
  /** Called after each commit that added events, until the returned function is called. */
  onEvents(listener: () => void): () => void;
  /** Whether it answers, as far as is known without asking it. */
  health(): StoreHealth;
  /** Size of SQLite's write-ahead log; undefined with another driver. */
  walBytes(): Promise<number | undefined>;
  /** Lets a meter know of everything it does from now on. */
  measure(meter: StoreMeter): void;
  /** What the store itself wants done at times. */
  readonly housekeeping: { everyMs: number; changes(): readonly Change[] } | undefined;
  /** The start has succeeded: what was kept in case it would not is given up a day from now. */
  started(): void;
  /** Commits since the start. */
  readonly units: number;
  /** Resolves when the store has failed for good: nothing can be stored any more. */
  readonly died: Promise<Error>;
  /** Accepts nothing more; resolves when every accepted commit is durable or rejected, within 1.5 s. */
  close(): Promise<void>;
}

/** Where a store is. `writer` is a thread that was started early. */
export type StorePlace =
  | { driver: "sqlite"; file: string; writer?: Worker | undefined }
  | (PostgresPlace & { files: HistoryFiles });

/**
 * Opens (and creates or migrates) a store; only its own driver is loaded.
 * @param gateway version of this gateway
 * @param warn gets what makes the store less durable than promised, as sentences
 */
export async function openStore(
  place: StorePlace,
  clock: Clock,
  gateway?: string,
  warn: (sentence: string) => void = () => {},
): Promise<Store> {
  if (place.driver === "postgres") {
    const { openPostgres } = await import("./postgres/index.ts");
    return createStore(await openPostgres(place, clock, gateway, warn, place.files));
  }
  const { openSqlite } = await import("./sqlite/index.ts");
  return createStore(openSqlite(place.file, clock, gateway, place.writer));
}

/** Examines the database of a file without changing it; see the driver's own. */
export async function inspectStore(file: string, budgetMs: number): Promise<StoreFacts> {
  const sqlite = await import("./sqlite/index.ts");
  return sqlite.inspectStore(file, budgetMs);
}

/** Examines a store on Postgres without changing it; see the driver's own. */
export async function inspectPostgres(place: PostgresPlace, clock: Clock): Promise<PostgresFacts> {
  const postgres = await import("./postgres/index.ts");
  return postgres.inspectPostgres(place, clock);
}

/**
 * The schema of a store; of version 0 if there is none.
 * @param stopped whether no gateway may use it, nor begin to until it is closed
 */
export async function openVersions(place: CopyPlace, clock: Clock, stopped: boolean): Promise<StoreVersions> {
  if (place.driver === "postgres") {
    const { openPostgresVersions } = await import("./postgres/index.ts");
    return openPostgresVersions(place, clock, stopped);
  }
  const sqlite = await import("./sqlite/index.ts");
  return sqlite.openVersions(place.file);
}

/** The repositories over an open database. */
export function createStore(driver: Driver, elapsed = () => performance.now()): Store {
  const meter = createMeter(elapsed);
  const sql: Sql = {
    read: <T>(text: string, params?: readonly Param[]) =>
      meter.measured("read", () => driver.read<T>(text, params && cleanParams(params))),
    slow: <T>(text: string, params?: readonly Param[]) =>
      meter.measured("slow", () => driver.slow<T>(text, params && cleanParams(params))),
  };
  const listeners = new Set<() => void>();
  const ids = createIds(driver.givenIds);
  const { shared } = driver;
  const sharedIds = shared && createSharedIds(driver.givenIds, shared.reserveIds);
  let claimOf: ((agentId: string) => Claim | undefined) | undefined;
  async function commit<const C extends readonly Change<unknown>[]>(...changes: C) {
    const reservation = ids.reservation();
    const statements = changes.flatMap(statementsOf).map(cleanStatement);
    const results = await meter.measured("unit", () =>
      driver.write([...statements, ...reservation.statements]),
    );
    reservation.stored();
    if (statements.some(isEvent)) {
      for (const listener of listeners) listener();
    }
    return answersOf(changes, results) as Answers<C>;
  }
  const fenced =
    (claim: Claim | undefined): AsOwner =>
    async (write) => {
      if (!claim?.holds()) throw new FencedError();
      try {
        return await write([shared!.fence(claim)]);
      } catch (error) {
        if (!shared!.isFenced(error)) throw error;
        claim.refused();
        throw new FencedError();
      }
    };
  const commitAs = <const C extends readonly Change<unknown>[]>(claim: Claim | undefined, changes: C) =>
    fenced(claim)(async (fence) => {
      const [, ...answers] = await commit(change(...fence), ...changes);
      return answers as unknown as Answers<C>;
    });
  /** Before it is said who owns what, nobody else is there. */
  const asOwner = (agentId: string): AsOwner =>
    shared && claimOf ? fenced(claimOf(agentId)) : (write) => write([]);
  const alone: AgentUnits = { commit, holds: () => true, reaches: () => true };
  const forAgent = (agentId: string): AgentUnits => {
    const claim = claimOf?.(agentId);
    return {
      commit: (...changes) => commitAs(claim, changes),
      holds: () => claim?.holds() === true,
      reaches: () => claim?.reaches() === true,
    };
  };
  /** Ids of messages in a row for a job; the first of them, once they are reserved durably. */
  const ownRange = async (count: number) => {
    const first = ids.take(count);
    await commit();
    return first;
  };
  const search: Search = {
    find: (query, signal) => meter.measured("search", () => driver.search.find(cleanQuery(query), signal)),
    entry: (message) => driver.search.entry({ ...message, content: cleanText(message.content) }),
  };
  return {
    crons: createCrons(sql),
    events: createEvents(sql),
    ids: { message: sharedIds?.message ?? ids.message },
    logins: createLogins(sql),
    inbox: createInbox(sql),
    messages: createMessages(sql, search.entry),
    outbox: createOutbox(sql),
    history: createHistory(sql),
    search,
    media: createMedia(sql),
    removal: driver.removal(asOwner),
    imports: driver.imports(sharedIds?.range ?? ownRange, asOwner),
    exports: {
      slice: (agentId, chatId, cursor) => driver.exports.slice(agentId, chatId && cleanText(chatId), cursor),
    },
    jobs: createJobs(sql),
    positions: createPositions(sql),
    sessions: createSessions(sql),
    shares: createShares(sql),
    traces: createTraces(sql),
    usage: createUsage(sql),
    onEvents(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    turns: createTurns(sql),
    housekeeping: driver.housekeeping && {
      everyMs: driver.housekeeping.everyMs,
      changes: () => [change(...driver.housekeeping!.statements())],
    },
    commit,
    forAgent: shared ? forAgent : () => alone,
    shared: shared && {
      directory: {
        ...shared.directory,
        async take(...which) {
          const fence = await shared.directory.take(...which);
          // Whatever the agent's last owner was given is below.
          if (fence !== undefined) await sharedIds!.renew();
          return fence;
        },
      },
      ownedBy(claims) {
        claimOf = claims;
      },
    },
    health: () => ({ driver: driver.name, ok: driver.ok, latencyMs: meter.latest() }),
    walBytes: async () => driver.walBytes?.(),
    measure: meter.set,
    get units() {
      return driver.units;
    },
    died: driver.died,
    started: driver.started,
    close: driver.close,
  };
}
