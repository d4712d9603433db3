import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createHistory,
  type RetentionAgent,
  type Waiting,
} from "../../../packages/gateway/src/history/index.ts";
import { type Clock, systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { change } from "../../../packages/gateway/src/store/change.ts";
import type { Driver } from "../../../packages/gateway/src/store/driver.ts";
import { createStore, type PageQuery, type SearchQuery } from "../../../packages/gateway/src/store/index.ts";
import { openPostgres } from "../../../packages/gateway/src/store/postgres/index.ts";
import { openDatabase } from "../../../packages/gateway/src/store/sqlite/database.ts";
import { sqliteDriver } from "../../../packages/gateway/src/store/sqlite/driver.ts";
import type { Param, Statement } from "../../../packages/gateway/src/store/statement.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";

/** Waits for as long as it takes. */
const patient: Waiting = { signal: new AbortController().signal, takeRoom() {} };

export interface Entry {
  session: string;
  content: string;
  ts: number;
  role?: "user" | "assistant";
  /** The next one by default. */
  id?: number;
}

const MOST_AT_ONCE = 500;

interface Options {
  agents?: () => readonly RetentionAgent[];
  clock?: Clock;
  home?: string;
}

/** The history over a driver, in a folder of its own. */
function historyOver(driver: Driver, options: Options & { home: string }) {
  const { home } = options;
  const opened = createStore(driver);
  // No other gateway is there, so that every agent is this one's.
  const rows = {
    ...opened,
    forAgent: () => ({ commit: opened.commit, holds: () => true, reaches: () => true }),
  };
  const mediaDir = join(home, "media");
  const spoolDir = join(home, "imports");
  const history = createHistory({
    store: rows,
    clock: options.clock ?? systemClock,
    log: silentLogger,
    takeSpace: () => {},
    agents: options.agents ?? (() => []),
    mediaDir: () => mediaDir,
    spoolDir,
  });
  return {
    home,
    rows,
    read: <T>(text: string, params: readonly Param[] = []) => driver.read<T>(text, params),
    write: (...statements: readonly Statement[]) => driver.write(statements),
    history: {
      ...history,
      page: (query: PageQuery, waiting = patient) => history.page(query, waiting),
      search: (query: SearchQuery, waiting = patient) => history.search(query, waiting),
    },
    mediaDir,
    spoolDir,
    /** Stores messages the way turns do, many in one unit. */
    async add(agentId: string, chatId: string, entries: readonly Entry[]): Promise<void> {
      const sessions = new Map(entries.map((entry) => [entry.session, entry]));
      await rows.commit(
        change({
          sql: "INSERT INTO chats (agent_id, chat_id, last_activity) VALUES (?, ?, 0) ON CONFLICT DO NOTHING",
          params: [agentId, chatId],
        }),
        ...[...sessions.values()].map(({ session, ts }) =>
          change({
            sql: `INSERT INTO sessions (uuid, chat, agent_id, name, created_at, last_activity)
                  SELECT ?, id, ?, 'A name', ?, 0 FROM chats WHERE agent_id = ? AND chat_id = ?
                  ON CONFLICT DO NOTHING`,
            params: [session, agentId, ts, agentId, chatId],
          }),
        ),
      );
      for (let at = 0; at < entries.length; at += MOST_AT_ONCE) {
        const changes = entries
          .slice(at, at + MOST_AT_ONCE)
          .map(({ session, content, ts, role = "user", id = rows.ids.message() }) =>
            rows.messages.add({ id, session, role, content, ts, extra: {} }),
          );
        await rows.commit(...changes);
      }
    },
    /** A fresh row id for a session's uuid. */
    async sessionRow(uuid: string): Promise<number> {
      return (await driver.read<{ id: number }>("SELECT id FROM sessions WHERE uuid = ?", [uuid]))[0]!.id;
    },
    async close(keep = false): Promise<void> {
      await driver.close();
      if (!keep) rmSync(home, { recursive: true, force: true });
    },
  };
}

const newHome = () => mkdtempSync(join(tmpdir(), "history-"));

/** A real SQLite database with its threads. */
export function openStore(options: Options = {}) {
  const home = options.home ?? newHome();
  const db = openDatabase(join(home, "gateway.db"), systemClock);
  const store = historyOver(sqliteDriver(db), { ...options, home });
  const queued = () => db.all<{ n: number }>("SELECT count(*) AS n FROM search_queue")[0]!.n;
  return {
    ...store,
    db,
    /** Opens it again once it is closed. */
    reopen: async () => openStore({ ...options, home }) as Store,
    /** Resolves once the index has taken in what it will take in. */
    async indexed(): Promise<void> {
      for (;;) {
        if (queued() < 200) return;
        // Any reply of the writer thread: its idle work goes on in between.
        await store.rows.removal.turnsBefore("a", 0, patient.signal);
      }
    },
    queued,
  };
}
type SqliteStore = ReturnType<typeof openStore>;
export type Store = Omit<SqliteStore, "db" | "queued" | "reopen"> & { reopen(): Promise<Store> };

/** A store on the Postgres at `place`. */
export async function openOnPostgres(
  options: Options,
  place: Awaited<ReturnType<typeof postgresStore>>,
): Promise<Store> {
  const home = options.home ?? newHome();
  const driver = await openPostgres(place, systemClock, undefined, () => {}, place.files);
  return {
    ...historyOver(driver, { ...options, home }),
    reopen: () => openOnPostgres({ ...options, home }, place),
    // The unit that stores a message has its place in search, too.
    indexed: async () => {},
  };
}

/** How a test opens an empty store of each driver. */
export const kinds: ReadonlyArray<{ kind: string; open(options?: Options): Promise<Store> }> = [
  { kind: "SQLite", open: async (options) => openStore(options) },
  ...(withoutPostgres()
    ? []
    : [
        {
          kind: "Postgres",
          open: async (options: Options = {}) => openOnPostgres(options, await postgresStore()),
        },
      ]),
];

export const newId = () => randomUUID();
