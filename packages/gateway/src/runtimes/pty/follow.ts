import { type Clock, sleep } from "../../lib/clock.ts";
import { openHooks, saysStopped } from "./hooks.ts";
import type { Link } from "./link.ts";
import type { Occupant } from "./occupant.ts";
import { readRecord } from "./records.ts";
import type { Run } from "./run.ts";
import { createTail } from "./tail.ts";
import { findTranscript } from "./transcript.ts";

/** How often records are read while something is going on, and while nothing is. */
const ACTIVE_MS = 100;
const IDLE_MS = 60_000;
/** Parts of one answer are written within this of each other. */
const TOGETHER_MS = 60;
/** The program tells the end of a turn before it has written the last of its records. */
const LATE_MS = 2000;

export const UNREADABLE = "The agent program's records could not be read.";

export interface FollowerOptions {
  place: Parameters<typeof findTranscript>[0];
  sessionDir: string;
  clock: Clock;
  link: Link;
  /** The run whose message has been submitted. */
  run(): Run | undefined;
  occupant: Occupant;
  /** A record was too long to be kept. */
  onOverflow(): void;
  /** Something else lies where the records should be. */
  onUnreadable(error: unknown): void;
}

const isEnding = (run: Run) => !run.over && run.ending !== "no";

/** Reads the program's records as they come, and hands them to the run that they belong to. */
export function createFollower(options: FollowerOptions) {
  const { place, clock, link, run, occupant, onOverflow } = options;
  let closed = false;
  const transcript = createTail({
    open: findTranscript(place, clock).open,
    onOverflow,
    onLine(text) {
      const record = readRecord(text);
      if (record === null) return;
      const to = run();
      if (to && !to.over) to.take(record);
      else occupant.take(record);
    },
  });
  let stopped = false;
  const hooks = createTail({
    open: () => openHooks(options.sessionDir),
    onOverflow: () => {},
    onLine(text) {
      stopped ||= saysStopped(text);
    },
  });

  /** The run that the program has told the end of, in a hook. */
  let told: { run: Run; at: number } | undefined;

  async function read(): Promise<void> {
    stopped = false;
    // First, so that the end of one turn is not taken for that of the next.
    await hooks.read();
    const before = run();
    if (stopped && before?.taken) told ??= { run: before, at: clock.elapsed() };
    await transcript.read();
    const to = run();
    if (to !== told?.run) told = undefined;
    if (!to) return;
    if (isEnding(to)) {
      if (to.ending === "soon") await sleep(clock, TOGETHER_MS);
      await transcript.read();
      if (isEnding(to)) to.finish();
    } else if (told && clock.elapsed() - told.at >= LATE_MS) to.finish();
  }

  async function loop(): Promise<void> {
    while (!closed) {
      const seen = link.events;
      await read().catch(options.onUnreadable);
      if (closed) return;
      await occupant.look();
      await link.changed(run() || occupant.busy ? ACTIVE_MS : IDLE_MS, seen);
    }
  }

  return {
    begin: () => void loop(),
    wake: () => link.wake(),
    /** Leaves out what has been recorded so far. Rejects with a user-facing message. */
    async skip() {
      await Promise.all([transcript.skip(), hooks.skip()]).catch((error: unknown) => {
        throw new Error(UNREADABLE, { cause: error });
      });
    },
    /** Reads what a process that is gone has left. */
    last: read,
    /** The program keeps records of the conversation. */
    get found() {
      return transcript.found;
    },
    async close() {
      closed = true;
      link.wake();
      await Promise.all([transcript.close(), hooks.close()]);
    },
  };
}
export type Follower = ReturnType<typeof createFollower>;
