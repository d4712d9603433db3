import { statfs } from "node:fs/promises";
import { GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

const LOOK_MS = 5_000;
/** A check that is still running after this many further intervals has not completed for 10 s. */
const STUCK_LOOKS = 2;

export interface DiskDeps {
  /** The home directory. */
  home: string;
  /** `gateway.minFreeBytes`; 0 turns the floor off. */
  minFree: () => number;
  clock: Clock;
  log: Logger;
  /** Free bytes for this user at a path; accesses the disk through the same thread pool as all file access. */
  look?: (path: string) => Promise<number>;
}

const freeAt = async (path: string): Promise<number> => {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
};

/**
 * Watches the disk with a small check every five seconds: how much is free, and whether file access completes at
 * all. Queries never wait for the disk.
 */
export function createDisk({ home, minFree, clock, log, look = freeAt }: DiskDeps) {
  /** Bytes; undefined until a check has succeeded. Bytes stored since the last check are subtracted. */
  let free: number | undefined;
  let missed = 0;
  let looking = false;
  let toldLow = false;
  const isLow = () => free !== undefined && free < minFree();

  const tellLow = () => {
    if (isLow() === toldLow) return;
    toldLow = !toldLow;
    if (toldLow)
      log.warn({ free, minFreeBytes: minFree() }, "the disk is nearly full; accepting nothing new");
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
    /** Free bytes according to the last check. */
    free: () => free,
    /**
     * Call before storing something new, with its size if it is large.
     * @throws GatewayError `UNAVAILABLE` below the floor
     */
    take(bytes = 0): void {
      if (free !== undefined) free -= bytes;
      if (!isLow()) return;
      tellLow();
      throw new GatewayError(
        "UNAVAILABLE",
        "The gateway's disk is nearly full; nothing new can be stored until space is freed.",
        {
          headers: { "retry-after": "60" },
        },
      );
    },
    close: stop,
  };
}
export type Disk = ReturnType<typeof createDisk>;
