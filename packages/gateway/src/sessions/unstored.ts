import { GatewayError } from "@agent-gateway/contract";
import { type Clock, sleep } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import {
  type AgentUnits,
  type Change,
  cannotStoreNow,
  FencedError,
  hasEnded,
  type Store,
} from "../store/index.ts";

/** The end of a turn is kept this long for a store that cannot take it. */
const KEEP_MS = 600_000;
/** Size limit of all ends that are kept. */
const MAX_BYTES = 64 * 1024 * 1024;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
/** A stop waits this long for what can be stored after all. */
const CLOSE_MS = 1_000;

/** The end of a turn that could not be stored. */
export interface TurnEndUnit {
  agentId: string;
  sessionId: string;
  requestId: string;
  /** Those of the turn: they are refused once another gateway has taken the agent. */
  units: AgentUnits;
  changes: readonly Change<unknown>[];
  /** Approximate memory that the changes use. */
  bytes: number;
}

/** Ends of turns that the store could not take. No turn begins in their sessions. */
export interface Unstored {
  /**
   * Keeps the end of a turn until the store takes it. Resolves when it is stored, or will never be: after ten minutes, or
   * beyond a limit on memory, the turn is closed like one that a crash cut off.
   */
  keep(end: TurnEndUnit): Promise<void>;
  /**
   * Closes a turn of which its caller knows nothing, if the store says that it began, as soon as the store can. Resolves
   * when it is done, or will not be, to whether it began.
   */
  closeIf(began: Promise<boolean>, turn: Omit<TurnEndUnit, "changes" | "bytes">): Promise<boolean>;
  has(sessionId: string): boolean;
  /** Tries at once. Resolves when nothing of the session waits any more; rejects when the store still cannot take it. */
  flush(sessionId: string): Promise<void>;
  /** Tries a last time; what is not stored by then is lost, and the next start closes its turn. */
  stop(): Promise<void>;
}

/** What is told to whoever wants to begin something in such a session. */
export const notYetStored = () =>
  new GatewayError("UNAVAILABLE", "The session's last reply could not be stored yet; try again later.", {
    headers: { "retry-after": "5" },
  });

interface Entry extends Omit<TurnEndUnit, "changes"> {
  /** Undefined when the reply was given up, and only its turn is to be closed. */
  changes: readonly Change<unknown>[] | undefined;
  /** The store has yet to say whether there is a turn to close. */
  unsure: boolean;
  since: number;
  attempt: Promise<void> | undefined;
  settle(): void;
}

export function createUnstored(room: {
  turns: Pick<Store["turns"], "mustRun">;
  clock: Clock;
  log: Logger;
  /** Closes a turn, if it is still open, with what is stored of its text. */
  closeCutOff(agentId: string, requestId: string, units: AgentUnits): Promise<unknown>;
  /** A session takes turns again. */
  freed(): void;
}): Unstored {
  const { turns, clock, log } = room;
  const entries = new Map<string, Entry>();
  const of = (sessionId: string) =>
    entries.size === 0 ? [] : [...entries.values()].filter((entry) => entry.sessionId === sessionId);
  let bytes = 0;
  let failures = 0;
  let cancel: (() => void) | undefined;
  let closed = false;

  const about = ({ sessionId, requestId }: Entry) => ({ session: sessionId, request: requestId });

  const giveUpReply = (entry: Entry, why: string) => {
    if (!entry.changes) return;
    entry.changes = undefined;
    bytes -= entry.bytes;
    log.error(about(entry), `gave up a reply that could not be stored: ${why}`);
  };

  const done = (entry: Entry) => {
    if (entry.changes) bytes -= entry.bytes;
    entries.delete(entry.requestId);
    entry.settle();
    room.freed();
  };

  const attempt = async (entry: Entry): Promise<void> => {
    if (entry.unsure) throw notYetStored();
    if (clock.elapsed() - entry.since >= KEEP_MS)
      giveUpReply(entry, "the store did not take it for ten minutes.");
    const { agentId, changes, requestId, units } = entry;
    try {
      if (changes) await units.commit(turns.mustRun(requestId), ...changes);
      else await room.closeCutOff(agentId, requestId, units);
      log.info(about(entry), changes ? "stored a reply that had to wait" : "closed a turn without its reply");
    } catch (error) {
      if (error instanceof FencedError) {
        log.warn(about(entry), "dropped a reply that could not be stored: another gateway has the agent");
      } else if (hasEnded(error)) {
        // An attempt whose answer was lost has stored it, or somebody else has closed the turn.
        log.info(about(entry), "a reply that had to wait is not needed any more: its turn is closed");
      } else if (cannotStoreNow(error)) {
        throw error;
      } else if (changes) {
        giveUpReply(entry, "the store refused it.");
        log.error({ err: error, ...about(entry) }, "the store refused a reply");
        return attempt(entry);
      } else {
        log.error({ err: error, ...about(entry) }, "could not close a turn; the next start does");
      }
    }
    done(entry);
  };
  const tryNow = (entry: Entry): Promise<void> => {
    entry.attempt ??= attempt(entry).finally(() => {
      entry.attempt = undefined;
    });
    return entry.attempt;
  };

  const tryAll = async (): Promise<void> => {
    const tried = await Promise.allSettled([...entries.values()].map(tryNow));
    failures = tried.some(({ status }) => status === "rejected") ? failures + 1 : 0;
  };
  const arm = () => {
    if (cancel || closed || entries.size === 0) return;
    cancel = clock.after(
      Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10)),
      async () => {
        await tryAll();
        cancel = undefined;
        arm();
      },
    );
  };

  const lose = (entry: Entry) => {
    if (entry.changes)
      log.error(
        about(entry),
        "the gateway stops before a reply could be stored: the reply is lost, and the next start closes its turn with the text stored so far",
      );
    entry.settle();
  };

  const add = (end: TurnEndUnit | (Omit<TurnEndUnit, "changes"> & { changes: undefined })) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const unsure = end.changes === undefined;
    const entry: Entry = { ...end, unsure, since: clock.elapsed(), attempt: undefined, settle: resolve };
    if (closed) lose(entry);
    else {
      entries.set(end.requestId, entry);
      bytes += end.bytes;
      if (bytes > MAX_BYTES) giveUpReply(entry, "too many replies wait for the store.");
      arm();
    }
    return { entry, settled: promise };
  };

  return {
    keep: (end) => add(end).settled,
    has: (sessionId) => of(sessionId).length > 0,
    async flush(sessionId) {
      for (const entry of of(sessionId)) await tryNow(entry);
    },
    async closeIf(began, turn) {
      const { entry, settled } = add({ ...turn, changes: undefined, bytes: 0 });
      const stored = await began;
      entry.unsure = false;
      if (entries.get(turn.requestId) === entry) {
        if (stored) tryNow(entry).catch(() => {});
        else done(entry);
      }
      await settled;
      return stored;
    },
    async stop() {
      closed = true;
      cancel?.();
      if (entries.size === 0) return;
      await Promise.race([tryAll(), sleep(clock, CLOSE_MS)]);
      for (const entry of entries.values()) lose(entry);
      entries.clear();
    },
  };
}
