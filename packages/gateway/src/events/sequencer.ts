import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Change, Store } from "../store/index.ts";

export interface SequencerDeps {
  store: Pick<Store, "events" | "commit">;
  clock: Clock;
  log: Logger;
  /** Called when there are new numbers. */
  onNumbered(): void;
}

/** Events wait this long for others, so that a busy gateway numbers many in one commit. */
const GATHER_MS = 100;
const RETRY_MS = 1_000;
const BATCH = 1_000;

const KEEP = 100_000;
const KEEP_MS = 7 * 24 * 3_600_000;
/** The table never grows past what is kept by more than this and one batch. */
const PRUNE_AFTER = 5_000;
const PRUNE_BATCH = 2_000;

/** Removes events that are no longer kept, `limit` at most. Answers how many it removed. */
export const pruneEvents = ({ events }: Pick<Store, "events">, clock: Clock, limit: number): Change<number> =>
  events.prune(KEEP, clock.now() - KEEP_MS, limit);

export interface Sequencer {
  /** Says that events may wait for their number. */
  wake(): void;
  /** Numbers all that wait, now; resolves when they have their numbers, or when that failed. */
  flush(): Promise<void>;
  /** Numbers nothing any more. */
  stop(): void;
}

/**
 * Gives events their numbers after they were committed, and removes the oldest of too many. It looks at the rows alone, so what a
 * crash left without a number is numbered at the next start, and other writers' events are numbered as well.
 */
export function createSequencer({ store, clock, log, onNumbered }: SequencerDeps): Sequencer {
  let cancel: (() => void) | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  let sincePrune = 0;
  let failing = false;

  const wake = (ms = GATHER_MS) => {
    if (stopped || cancel) return;
    cancel = clock.after(ms, () => {
      cancel = undefined;
      void flush();
    });
  };

  const prune = async () => {
    sincePrune = 0;
    for (;;) {
      const [removed] = await store.commit(pruneEvents(store, clock, PRUNE_BATCH));
      if (removed < PRUNE_BATCH) return;
    }
  };

  const pass = async () => {
    do {
      again = false;
      const [numbered] = await store.commit(store.events.number(BATCH));
      if (numbered > 0) onNumbered();
      if (numbered === BATCH) again = true;
      sincePrune += numbered;
      if (sincePrune >= PRUNE_AFTER) await prune();
    } while (again && !stopped);
  };

  const attempt = async (work: () => Promise<void>, what: string) => {
    try {
      await work();
      failing = false;
    } catch (error) {
      if (stopped) return;
      // Told once: a disk may stay full for days.
      if (!failing) log.warn({ err: error }, what);
      failing = true;
      wake(RETRY_MS);
    }
  };

  const flush = (): Promise<void> => {
    if (stopped) return Promise.resolve();
    // What was committed while a pass runs may have come too late for it.
    if (running) again = true;
    running ??= attempt(pass, "could not number events; trying again").finally(() => {
      running = undefined;
      if (again) wake();
    });
    return running;
  };

  return {
    wake: () => wake(),
    flush,
    stop() {
      stopped = true;
      cancel?.();
    },
  };
}
