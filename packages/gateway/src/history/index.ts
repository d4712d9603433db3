import type { Readable } from "node:stream";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createMutex } from "../lib/mutex.ts";
import { type Change, fromStatements } from "../store/index.ts";
import type { Database } from "../store/sqlite/index.ts";
import { type DaysQuery, readActiveDays } from "./days.ts";
import { exportLines } from "./export.ts";
import { createImports } from "./import.ts";
import {
  type ChatRecord,
  type ChatSession,
  readChatSessions,
  readChats,
  readSessions,
  type SessionRecord,
} from "./lists.ts";
import { type Page, type PageQuery, readPage } from "./paging.ts";
import { clearStatements } from "./removal.ts";
import { createRetention, type RetentionAgent } from "./retention.ts";
import type { SearchPage, SearchQuery } from "./search.ts";

export type { DaysQuery } from "./days.ts";
export type { ImportResult } from "./import-store.ts";
export type { ChatRecord, ChatSession, SessionRecord } from "./lists.ts";
export type { Page, PageQuery } from "./paging.ts";
export type { RetentionAgent } from "./retention.ts";
export type { SearchPage, SearchQuery } from "./search.ts";

export interface HistoryDeps {
  db: Database;
  clock: Clock;
  log: Logger;
  /** The running agents, with their resolved history settings. */
  agents: () => readonly RetentionAgent[];
  mediaDir(agentId: string): string;
  /** Folder for the bodies of imports under way; absolute, made when needed. */
  spoolDir: string;
  /** Takes bytes off the free space of the disk; throws below the floor. */
  takeSpace(bytes: number): void;
}

/** Pages up to this size are read on the main thread: by index, and little. */
const MAX_DIRECT_LIMIT = 100;

/** Message history: paging, search, days, export, import, removal and retention. `chatId` is always the stored id. */
export function createHistory(deps: HistoryDeps) {
  const { db } = deps;
  const imports = createImports(deps);
  const retention = createRetention(deps);
  const oneAtATime = createMutex();
  /** Long results are read one at a time: this thread would take all that are ready without a pause. */
  const long = <T>(name: "page" | "search", query: unknown, proceed?: () => void): Promise<T> =>
    oneAtATime(() => {
      proceed?.();
      return db.readerJob<T>(name, query);
    });
  return {
    /** Chats that have sessions, latest first. */
    chats: (agentId: string): Promise<ChatRecord[]> => readChats(db, agentId),
    /** Sessions of a chat, latest first. */
    chatSessions: (agentId: string, chatId: string): Promise<ChatSession[]> =>
      readChatSessions(db, agentId, chatId),
    /** All sessions of an agent, latest first. */
    sessions: (agentId: string): Promise<SessionRecord[]> => readSessions(db, agentId),
    /** `proceed` is called before a long page is read, which may have to wait; what it throws ends the wait. */
    page: (query: PageQuery, proceed?: () => void): Page | Promise<Page> =>
      query.limit <= MAX_DIRECT_LIMIT && !query.include
        ? readPage(db.all, query)
        : long<Page>("page", query, proceed),
    search: (query: SearchQuery, proceed?: () => void): Promise<SearchPage> => long("search", query, proceed),
    activeDays: (query: DaysQuery): string[] => readActiveDays(db.all, query),
    /** See {@link exportLines}. */
    export: (agentId: string, chat: string | undefined, signal: AbortSignal): Promise<Readable> =>
      exportLines(db, agentId, chat, signal),
    /** Stores the lines of a body; one import at a time for each agent. */
    import: imports.run,
    /** Removes a session's messages and all that is derived from them. */
    clear: (session: number): Change => fromStatements(...clearStatements(session)),
    /**
     * Removes a session's messages in slices. Before `clear` for a session of many messages, so that
     * the unit is short and other writes do not wait for it.
     */
    async emptySession(session: number): Promise<void> {
      await db.writerJob("emptySession", { session });
    },
    /** Finishes imports that were cut off and begins the daily clean-ups. */
    start() {
      retention.start();
      void imports
        .resume()
        .catch((error) => deps.log.warn({ err: error }, "could not look for interrupted imports"));
    },
    /** Checks at once whether changed settings make a clean-up due. */
    reconfigure: () => void retention.tick(),
    close: () => retention.close(),
  };
}
export type History = ReturnType<typeof createHistory>;
