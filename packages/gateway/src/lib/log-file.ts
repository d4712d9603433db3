import { appendFileSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "./clock.ts";

const FLUSH_MS = 200;
/** Lines beyond this are dropped while the disk does not accept writes; their number is logged once it does. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;
const DAY_MS = 86_400_000;

/** How log files are kept; see `gateway.logs`. */
export interface LogLimits {
  /** A file is rotated before it would exceed this. */
  maxFileBytes: number;
  /** Rotated files kept; 0 keeps none. */
  maxFiles: number;
}

/** One log file that is written from memory, in the background. */
export interface LogFile {
  /** Takes one line, with its line end. Never throws, never waits. */
  write(line: string): void;
  /** Resolves when everything so far is written or dropped. Never rejects. */
  flush(): Promise<void>;
  /** Writes what is left at once; only for an exiting process. */
  flushSync(): void;
  close(): Promise<void>;
}

const generation = (path: string, number: number) => (number === 0 ? path : `${path}.${number}`);

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** `x.log` becomes `x.log.1`, and so on; what is beyond `maxFiles` is deleted. */
async function rotate(path: string, maxFiles: number): Promise<void> {
  // More than one when `maxFiles` was lowered.
  for (let number = maxFiles; await exists(generation(path, number)); number++) {
    await rm(generation(path, number), { force: true });
  }
  for (let number = maxFiles - 1; number >= 0; number--) {
    await rename(generation(path, number), generation(path, number + 1)).catch((error) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
}

/** A file `<dir>/<name>.log`. It is opened for each batch, so one that was moved or deleted is simply created again. */
export function createLogFile(dir: string, name: string, limits: () => LogLimits, clock: Clock): LogFile {
  const path = join(dir, `${name}.log`);
  let pending: string[] = [];
  /** Taken from `pending`, not yet on disk. */
  let batch: string[] = [];
  let pendingBytes = 0;
  let lost = 0;
  let running: Promise<void> | null = null;
  let cancel: (() => void) | undefined;

  /** Appends as many lines as fit below the limit, at least one; returns how many. */
  async function appendSome(lines: readonly string[]): Promise<number> {
    const { maxFileBytes, maxFiles } = limits();
    const size = await stat(path).then(
      (found) => found.size,
      () => 0,
    );
    let bytes = size;
    let count = 0;
    for (const line of lines) {
      const next = bytes + Buffer.byteLength(line);
      if (next > maxFileBytes && (count > 0 || size > 0)) break;
      bytes = next;
      count++;
    }
    if (count === 0) {
      await rotate(path, maxFiles);
      return 0;
    }
    const file = await open(path, "a", 0o600);
    try {
      await file.writeFile(lines.slice(0, count).join(""));
    } finally {
      await file.close();
    }
    return count;
  }

  async function drain(): Promise<void> {
    while (pending.length > 0) {
      batch = pending;
      pending = [];
      pendingBytes = 0;
      try {
        if (lost > 0) {
          batch.unshift(
            `${JSON.stringify({ level: "error", time: clock.now(), msg: `${lost} log lines were lost` })}\n`,
          );
          lost = 0;
        }
        await mkdir(dir, { recursive: true, mode: 0o700 });
        while (batch.length > 0) batch = batch.slice(await appendSome(batch));
      } catch {
        // A full or missing disk must not stop the gateway: the lines are dropped and counted.
        lost += batch.length;
        batch = [];
        return;
      }
    }
  }

  function flush(): Promise<void> {
    cancel?.();
    cancel = undefined;
    running ??= drain().finally(() => {
      running = null;
    });
    return running;
  }

  return {
    write(line) {
      if (pendingBytes > MAX_PENDING_BYTES) {
        lost++;
        return;
      }
      pending.push(line);
      pendingBytes += line.length;
      cancel ??= clock.after(FLUSH_MS, () => void flush());
    },
    async flush() {
      // A batch that is under way may have started before the last lines came.
      await running;
      await flush();
    },
    flushSync() {
      const left = [...batch, ...pending.splice(0)];
      if (left.length === 0) return;
      try {
        appendFileSync(path, left.join(""), { mode: 0o600 });
      } catch {
        // There is no one left to tell.
      }
    },
    async close() {
      await running;
      await flush();
    },
  };
}

/** Deletes `*.log` and `*.log.N` that were last written more than `days` before `now` (Unix ms); 0 keeps all. */
export async function sweepLogs(dir: string, days: number, now: number): Promise<void> {
  if (days === 0) return;
  for (const name of await readdir(dir).catch(() => [])) {
    if (!/\.log(?:\.\d+)?$/.test(name)) continue;
    const file = join(dir, name);
    const found = await stat(file).catch(() => null);
    if (found?.isFile() && now - found.mtimeMs > days * DAY_MS)
      await rm(file, { force: true }).catch(() => {});
  }
}
