import type { Readable } from "node:stream";
import type { searchPage } from "@agent-gateway/contract";
import { GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createMutex } from "../lib/mutex.ts";
import type { DaysQuery, PageQuery, SearchQuery, Store } from "../store/index.ts";
import { exportLines } from "./export.ts";
import { createImports } from "./import.ts";
import {
  type ChatRecord,
  type ChatSession,
  type Page,
  type SessionRecord,
  toChat,
  toChatSession,
  toPage,
  toSession,
} from "./lists.ts";
import { toRecord } from "./records.ts";
import { createRetention, type RetentionAgent } from "./retention.ts";

export type { ImportResult } from "../store/index.ts";
export { historyFiles } from "./files.ts";
export type { ChatRecord, ChatSession, Page, SessionRecord } from "./lists.ts";
export type { RetentionAgent } from "./retention.ts";
export type SearchPage = ReturnType<typeof searchPage>["_output"];

export interface HistoryDeps {
  store: Pick<Store, "history" | "search" | "media" | "removal" | "imports" | "exports">;
  clock: Clock;
  log: Logger;
  /** The running agents, with their resolved history settings. */
  agents: () => readonly RetentionAgent[];
  mediaDir(agentId: string): string;
  /** Folder for the bodies of imports under way; absolute, made when needed. */
  spoolDir: string;
  /** Id of the home that the folder is in, where several gateways use the store. */
  home?: string | undefined;
  /** Takes bytes off the free space of the disk; throws below the floor. */
  takeSpace(bytes: number): void;
}

/** Pages up to this size are read at once: by index, and little. */
const MAX_DIRECT_LIMIT = 100;

/** Who waits for a read that may take long. */
export interface Waiting {
  /** Aborted when nobody waits any more; looked at only by long reads. */
  readonly signal: AbortSignal;
  /** Called before a long read, which may have to wait; what it throws ends the wait. */
  takeRoom(): void;
}

/** Message history: paging, search, days, export, import, removal and retention. `chatId` is always the stored id. */
export function createHistory(deps: HistoryDeps) {
  const { history, search, removal } = deps.store;
  const imports = createImports(deps);
  const retention = createRetention(deps);
  const oneAtATime = createMutex();
  /** Long results are read one at a time: this thread would take all that are ready without a pause. */
  const long = <T>({ signal, takeRoom }: Waiting, read: () => Promise<T>): Promise<T> =>
    oneAtATime(async () => {
      try {
        signal.throwIfAborted();
        takeRoom();
        return await read();
      } catch (error) {
        // Nobody reads this.
        throw signal.aborted ? new GatewayError("INVALID_REQUEST", "The client has left.") : error;
      }
    });
  return {
    /** Chats that have sessions, latest first. */
    chats: async (agentId: string): Promise<ChatRecord[]> => (await history.chats(agentId)).map(toChat),
    /** Sessions of a chat, latest first. */
    chatSessions: async (agentId: string, chatId: string): Promise<ChatSession[]> =>
      (await history.sessions(agentId, chatId)).map(toChatSession),
    /** All sessions of an agent, latest first. */
    sessions: async (agentId: string): Promise<SessionRecord[]> =>
      (await history.sessions(agentId)).map(toSession),
    async page(query: PageQuery, waiting: Waiting): Promise<Page> {
      if (query.limit <= MAX_DIRECT_LIMIT && !query.include) {
        return toPage(await history.page(query, false), query);
      }
      return toPage(await long(waiting, () => history.page(query, true)), query);
    },
    async search(query: SearchQuery, waiting: Waiting): Promise<SearchPage> {
      const { messages, total } = await long(waiting, () => search.find(query, waiting.signal));
      return { messages: messages.map(toRecord), total };
    },
    activeDays: (query: DaysQuery): Promise<string[]> => history.days(query),
    /** See {@link exportLines}. */
    export: (agentId: string, chat: string | undefined, signal: AbortSignal): Promise<Readable> =>
      exportLines(deps.store, agentId, chat, signal),
    /** Stores the lines of a body; one import at a time for each agent. */
    import: imports.run,
    dropOthers: imports.dropOthers,
    clear: removal.clear,
    emptySession: removal.emptySession,
    /** The daily clean-ups, for the scheduler. */
    retention,
    /** Finishes imports that were cut off. */
    start() {
      void imports
        .resume()
        .catch((error) => deps.log.warn({ err: error }, "could not look for interrupted imports"));
    },
  };
}
export type History = ReturnType<typeof createHistory>;
