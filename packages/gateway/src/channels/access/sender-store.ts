import * as z from "zod";
import { readStateFile, writeState } from "../../lib/guarded/index.ts";
import type { Logger } from "../../lib/logger.ts";
import { createMutex } from "../../lib/mutex.ts";
import type { Knock } from "./knocks.ts";

/** Knocks of one agent's channel, by account (the empty string where the channel has none). */
export type Accounts = Map<string, readonly Knock[]>;

/** Stores the knocks of one agent's channel, on disk if it has a file. */
export interface SenderStore {
  /** One task after another; `save` stores what it changed. */
  use<T>(task: (accounts: Accounts) => Promise<T> | T): Promise<T>;
  /** Resolves when the current state is on disk; several calls share a write. */
  save(): Promise<void>;
  /** Resolves when no write is in progress. */
  idle(): Promise<void>;
}

/** Far more than the stored knocks need. */
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

/** Read on first use, and always written whole. An unreadable file counts as empty: senders knock again. */
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
      log.warn({}, "could not read the list of denied senders; starting with an empty one");
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
