import { type Clock, sleep } from "../../lib/clock.ts";
import { ESCAPE } from "./keys.ts";
import type { Link } from "./link.ts";
import type { TranscriptRecord } from "./records.ts";

/** A program that is ready and has printed nothing for this long is not at work for a person. */
const QUIET_MS = 1500;
/** After Escape it has this long to end; then its process has to. */
const INTERRUPT_MS = 3500;
const CLOSE_GRACE_MS = 500;

/** What a person has submitted in the terminal: no turn of the gateway, but the session is busy until it ends. */
export interface Occupant {
  readonly busy: boolean;
  /** Resolves when nothing of a person runs. */
  readonly until: Promise<void>;
  /** A person has submitted something. @param after the turn that runs, behind which it waits */
  begin(after: Promise<unknown> | undefined): void;
  /** A record that belongs to no turn of the gateway. */
  take(record: TranscriptRecord): void;
  /** Ends it if the program's screen says so. */
  look(): Promise<void>;
  interrupt(): Promise<void>;
  free(): void;
}

export function createOccupant({
  link,
  clock,
  occupied,
}: {
  link: Link;
  clock: Clock;
  /** Called when the session begins to be busy with what a person has submitted. */
  occupied(until: Promise<void>): void;
}): Occupant {
  let work: PromiseWithResolvers<void> | undefined;
  let heardAt = 0;

  const begin = () => {
    heardAt = clock.elapsed();
    if (work) return;
    work = Promise.withResolvers<void>();
    occupied(work.promise);
  };
  const free = () => {
    work?.resolve();
    work = undefined;
  };
  return {
    get busy() {
      return work !== undefined;
    },
    get until() {
      return work?.promise ?? Promise.resolve();
    },
    begin(after) {
      if (after) void after.then(begin);
      else begin();
    },
    take(record) {
      heardAt = clock.elapsed();
      if (record.kind === "prompt") begin();
      else if (record.kind === "said" ? record.ends : record.kind !== "line") free();
    },
    async look() {
      if (!work) return;
      const { ready, busy } = await link.reading();
      const still = clock.elapsed() - Math.max(heardAt, link.printedAt) >= QUIET_MS;
      if (ready && !busy && still) free();
    },
    async interrupt() {
      if (!work) return;
      const { promise } = work;
      link.write(ESCAPE);
      await Promise.race([promise, sleep(clock, INTERRUPT_MS)]);
      if (work?.promise === promise) await link.program.close(CLOSE_GRACE_MS);
    },
    free,
  };
}
