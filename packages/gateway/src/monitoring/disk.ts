import { statfs } from "node:fs/promises";
import { GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

const LOOK_MS = 5_000;
/** A look that is still under way at so many later ones has not completed for 10 s. */
const STUCK_LOOKS = 2;

export interface DiskDeps {
  /** The home directory. */
  home: string;
  /** `gateway.minFreeBytes`; 0 turns the floor off. */
  minFree: () => number;
  clock: Clock;
  log: Logger;
  /** Free bytes for this user at a path; goes to the disk, by way of the pool of threads that all file access needs. */
  look?: (path: string) => Promise<number>;
}

const freeAt = async (path: string): Promise<number> => {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
};

/**
 * Watches the disk by a small look every five seconds, which costs nothing while it answers: how much is free, and
 * whether file access completes at all. Neither question waits for the disk when it is asked.
 */
export function createDisk({ home, minFree, clock, log, look = freeAt }: DiskDeps) {
  /** Bytes; undefined while no look has succeeded. What was stored since the last look is taken off. */
  let free: number | undefined;
  let missed = 0;
  let looking = false;
  let toldLow = false;
  const isLow = () => free !== undefined && free < minFree();

  const tellLow = () => {
    if (isLow() === toldLow) return;
    toldLow = !toldLow;
    if (toldLow)
      log.warn({ free, minFreeBytes: minFree() }, "the disk is nearly full; nothing new is accepted");
    else log.info({ free }, "the disk has space again");
  };
  const lookOnce = () => {
    looking = true;
    missed = 0;
    look(home)
      .then(
        (bytes) => {
          free = bytes;
          tellLow();
        },
        (error: unknown) => {
          free = undefined;
          log.debug({ err: error }, "could not measure the free disk space");
        },
      )
      .finally(() => {
        if (missed >= STUCK_LOOKS) log.info({}, "file access completes again");
        looking = false;
      });
  };
  const stop = clock.every(LOOK_MS, () => {
    if (!looking) return lookOnce();
    if (++missed === STUCK_LOOKS) log.error({}, "file access has not completed for 10 s");
  });
  lookOnce();

  return {
    /** `stuck` when file access has not completed for 10 s, `low` below the floor. */
    state(): "ok" | "low" | "stuck" {
      if (looking && missed >= STUCK_LOOKS) return "stuck";
      return isLow() ? "low" : "ok";
    },
    /** Free bytes by the last look. */
    free: () => free,
    /**
     * To be called before something new is stored, with its bytes where they are many.
     * @throws GatewayError `UNAVAILABLE` below the floor
     */
    take(bytes = 0): void {
      if (free !== undefined) free -= bytes;
      if (!isLow()) return;
      tellLow();
      throw new GatewayError(
        "UNAVAILABLE",
        "The gateway's disk is nearly full; nothing new is stored until there is space.",
        {
          headers: { "retry-after": "60" },
        },
      );
    },
    close: stop,
  };
}
export type Disk = ReturnType<typeof createDisk>;
