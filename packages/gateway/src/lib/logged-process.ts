import { systemClock } from "./clock.ts";
import { type ProcessExit, type SpawnOptions, spawnProcess } from "./process.ts";
import { createRunLog, type RunLog, type RunLogReader } from "./run-log.ts";

/** While this much waits for the disk, the program's output is not read. */
const MOST_WAITING = 1024 * 1024;
const STOP_GRACE_MS = 5000;
/** The exit is told after this, even if the disk does not take the rest of the output. */
const LOG_GRACE_MS = 5000;

export interface LoggedSpawn extends Omit<SpawnOptions, "onStdout" | "onStderr" | "mayCloseOutput"> {
  /** Folder for the log; must be this run's own. */
  logDir: string;
  /** How much of the output is kept, the newest. */
  maxLogBytes: number;
  /** Stops the program. */
  signal?: AbortSignal;
}

/** A program that runs for long, whose whole output goes into a log that can be read while it grows. */
export interface LoggedProcess {
  readonly pid: number;
  /** What it wrote, in the order in which it arrived; see {@link RunLog}. */
  readonly log: RunLogReader & Pick<RunLog, "waiting" | "lost">;
  /** Resolves after the exit, when all of its output is in the log. */
  readonly exited: Promise<ProcessExit>;
  /** SIGTERM to its group, SIGKILL after `graceMs` (default 5000). */
  stop(graceMs?: number): Promise<ProcessExit>;
  /** The last 8,192 characters of stderr. */
  stderrTail(): string;
}

/**
 * Starts a program that nobody talks to, in a process group of its own: an installation, a build. Its output may be of
 * any size, and takes a bounded amount of memory: a program that writes faster than the disk waits for it.
 * @throws Error as {@link spawnProcess}
 */
export async function spawnLogged(options: LoggedSpawn): Promise<LoggedProcess> {
  const { logDir, maxLogBytes, signal, ...spawn } = options;
  const clock = spawn.clock ?? systemClock;
  let paused = false;
  const look = () => {
    const full = log.waiting > MOST_WAITING;
    if (full === paused) return;
    paused = full;
    if (full) child.pause();
    else child.resume();
  };
  const log = await createRunLog(logDir, { maxBytes: maxLogBytes, onWritten: () => look() });
  const take = (chunk: Buffer) => {
    log.write(chunk);
    look();
  };
  signal?.throwIfAborted();
  const child = await spawnProcess({
    ...spawn,
    mayCloseOutput: true,
    onStdout: take,
    onStderr: (text) => take(Buffer.from(text)),
  }).catch(async (error: unknown) => {
    await log.close();
    throw error;
  });
  child.endInput();

  const exited = child.exited.then(async (exit) => {
    signal?.removeEventListener("abort", onAbort);
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(LOG_GRACE_MS, resolve);
    await Promise.race([log.close(), promise]);
    cancel();
    return exit;
  });
  const stop = async (graceMs = STOP_GRACE_MS) => {
    child.kill("SIGTERM");
    const cancel = clock.after(graceMs, () => child.kill("SIGKILL"));
    await child.exited;
    cancel();
    return exited;
  };
  const onAbort = () => void stop();
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort);

  return { pid: child.pid, log, exited, stop, stderrTail: child.stderrTail };
}
