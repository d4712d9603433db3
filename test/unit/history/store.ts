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
import type { PageQuery, SearchQuery } from "../../../packages/gateway/src/store/index.ts";
import { type Database, openDatabase } from "../../../packages/gateway/src/store/sqlite/database.ts";
import { createStore } from "../../fixtures/memory-db.ts";

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

/** A real database with its threads, in a folder of its own. */
export function openStore(
  options: { agents?: () => readonly RetentionAgent[]; clock?: Clock; home?: string } = {},
) {
  const home = options.home ?? mkdtempSync(join(tmpdir(), "history-"));
  const clock = options.clock ?? systemClock;
  const db = openDatabase(join(home, "gateway.db"), systemClock);
  const rows = createStore(db);
  const mediaDir = join(home, "media");
  const spoolDir = join(home, "imports");
  const history = createHistory({
    store: rows,
    clock,
    log: silentLogger,
    takeSpace: () => {},
    agents: options.agents ?? (() => []),
    mediaDir: () => mediaDir,
    spoolDir,
  });
  const queued = () => db.all<{ n: number }>("SELECT count(*) AS n FROM search_queue")[0]!.n;
  return {
    home,
    rows,
    db,
    history: {
      ...history,
      page: (query: PageQuery, waiting = patient) => history.page(query, waiting),
      search: (query: SearchQuery, waiting = patient) => history.search(query, waiting),
    },
    mediaDir,
    spoolDir,
    /** Stores messages the way turns do, all in one unit. */
    async add(agentId: string, chatId: string, entries: readonly Entry[]): Promise<void> {
      const statements = [];
      for (const { session, content, ts, role, id } of entries) {
        statements.push(
          {
            sql: "INSERT OR IGNORE INTO chats (agent_id, chat_id, last_activity) VALUES (?, ?, 0)",
            params: [agentId, chatId],
          },
          {
            sql: `INSERT OR IGNORE INTO sessions (uuid, chat, agent_id, name, created_at, last_activity)
                  SELECT ?, id, ?, 'A name', ?, 0 FROM chats WHERE agent_id = ? AND chat_id = ?`,
            params: [session, agentId, ts, agentId, chatId],
          },
          {
            sql: `INSERT INTO messages (id, chat, session, role, content, ts)
                  SELECT ?, chat, id, ?, ?, ? FROM sessions WHERE uuid = ?`,
            params: [id ?? rows.ids.message(), role === "assistant" ? 1 : 0, content, ts, session],
          },
          {
            sql: `UPDATE sessions SET message_count = message_count + 1, last_activity = ?, last_message = ?
                  WHERE uuid = ?`,
            params: [ts, content.slice(0, 200), session],
          },
          {
            sql: `UPDATE chats SET message_count = message_count + 1, last_activity = ?
                  WHERE agent_id = ? AND chat_id = ?`,
            params: [ts, agentId, chatId],
          },
        );
      }
      await db.write(...statements);
    },
    /** Resolves once the index has taken in what it will take in. */
    async indexed(): Promise<void> {
      for (;;) {
        if (queued() < 200) return;
        // Any reply of the writer thread: its idle work goes on in between.
        await rows.removal.turnsBefore(0, patient.signal);
      }
    },
    queued,
    async close(keep = false): Promise<void> {
      await db.close();
      if (!keep) rmSync(home, { recursive: true, force: true });
    },
  };
}
export type Store = ReturnType<typeof openStore>;

export const newId = () => randomUUID();

/** A fresh row id for a session's uuid. */
export function sessionRow(db: Database, uuid: string): number {
  return db.all<{ id: number }>("SELECT id FROM sessions WHERE uuid = ?", [uuid])[0]!.id;
}
