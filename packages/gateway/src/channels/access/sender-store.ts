import * as z from "zod";
import { readStateFile, writeState } from "../../lib/guarded/state.ts";
import type { Logger } from "../../lib/logger.ts";
import { createMutex } from "../../lib/mutex.ts";
import type { Knock } from "./knocks.ts";

/** Knocks of one agent's channel, by account (the empty string where the channel has none). */
export type Accounts = Map<string, readonly Knock[]>;

/** Keeps the knocks of one agent's channel, on disk where it has a file. */
export interface SenderStore {
  /** One task after another; `save` keeps what it changed. */
  use<T>(task: (accounts: Accounts) => Promise<T> | T): Promise<T>;
  /** Resolves when what is kept now is on disk; several calls share a write. */
  save(): Promise<void>;
  /** Resolves when no write is under way. */
  idle(): Promise<void>;
}

/** Far more than the knocks that are kept. */
const MAX_BYTES = 16 * 1024 * 1024;

const stored = z.object({
  kind: z.enum(["dm", "group", "room"]),
  id: z.string(),
  senderId: z.string(),
  chatId: z.string(),
  name: z.string().optional(),
  firstSeen: z.number(),
  lastSeen: z.number(),
  count: z.number(),
  code: z.string().optional(),
  expiresAt: z.number().optional(),
  replies: z.number(),
});
const file = z.object({
  pending: z.record(z.string(), z.array(stored.or(z.unknown().transform(() => null)))),
});

function parse(text: string): Accounts {
  const { pending } = file.parse(JSON.parse(text));
  return new Map(
    Object.entries(pending).map(([account, list]) => [account, list.filter((knock) => knock !== null)]),
  );
}

export const createMemoryStore = (): SenderStore => {
  const accounts: Accounts = new Map();
  const locked = createMutex();
  return { use: (task) => locked(() => task(accounts)), save: async () => {}, idle: async () => {} };
};

/** Read when it is first used, and written whole. A file that cannot be read holds nothing: a sender knocks again. */
export function createFileStore(path: string, log: Logger): SenderStore {
  const locked = createMutex();
  const writing = createMutex();
  let loaded: Promise<Accounts> | undefined;
  let queued: Promise<void> | undefined;

  async function load(): Promise<Accounts> {
    try {
      const text = await readStateFile(path, MAX_BYTES);
      return text === undefined ? new Map() : parse(text);
    } catch {
      log.warn({}, "the list of denied senders could not be read and starts anew");
      return new Map();
    }
  }
  const accounts = () => {
    loaded ??= load();
    return loaded;
  };

  return {
    use: (task) => locked(async () => task(await accounts())),
    save() {
      queued ??= writing(async () => {
        queued = undefined;
        const pending = Object.fromEntries(await accounts());
        await writeState(path, `${JSON.stringify({ pending }, null, 2)}\n`);
      });
      return queued;
    },
    idle: () => writing(() => {}),
  };
}
