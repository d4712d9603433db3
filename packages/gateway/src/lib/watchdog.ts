import { Worker } from "node:worker_threads";
import { workerEntry } from "./entry.ts";
import type { Logger } from "./logger.ts";
import { BEAT_MS, type FromWatchdog, type ToWatchdog, type WatchdogData } from "./watchdog-thread.ts";

/** Watches this thread from another one. */
export interface Watchdog {
  /** The process ends once the loop has been blocked for this long; 0 means never. */
  configure(exitSeconds: number): void;
  /** Ends the process with `code` after `ms`, whatever this thread does then. */
  deadline(ms: number, code: number): void;
}

/** What a thread with so little code needs, with room to spare. */
const LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 };

/** Starts the watchdog; undefined while a debugger is attached, which stops this thread for good reason. */
export function startWatchdog(options: {
  exitSeconds: number;
  /** Where the thread itself writes while this one cannot. */
  logFile: string;
  log: Logger;
}): Watchdog | undefined {
  if (process.execArgv.some((flag) => flag.startsWith("--inspect"))) return undefined;
  const { exitSeconds, logFile, log } = options;
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(workerEntry("watchdog"), {
    workerData: { beats, exitSeconds, logFile } satisfies WatchdogData,
    resourceLimits: LIMITS,
    execArgv: ["--disable-warning=ExperimentalWarning"],
    env: {},
  });
  worker.unref();
  worker.on("error", (error) => log.error({ err: error }, "the watchdog ended"));
  worker.on("message", ({ blockedMs }: FromWatchdog) =>
    log.warn({ blockedMs }, "the event loop runs again after it was blocked"),
  );
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
  const tell = (message: ToWatchdog) => worker.postMessage(message);
  return {
    configure: (seconds) => tell({ exitSeconds: seconds }),
    deadline: (deadlineMs, code) => tell({ deadlineMs, code }),
  };
}
