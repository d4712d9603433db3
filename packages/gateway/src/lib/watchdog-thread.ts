import { appendFileSync, mkdirSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { loadExit } from "./end-now.ts";
import { mainThreadStack } from "./main-stack.ts";
import { onSignals } from "./thread-signals.ts";

/** How often the main thread's beats are looked at; it beats as often. */
export const BEAT_MS = 500;
/** A loop that is blocked for this long is reported. */
const BLOCKED_MS = 5_000;
/** After a signal the process ends within this time. */
export const STOP_DEADLINE_MS = 4_800;
/** `EX_SOFTWARE` of sysexits.h. */
export const EXIT_BLOCKED = 70;

/** What the thread is started with. */
export interface WatchdogData {
  /** One number, counted up by the main thread. */
  beats: Int32Array;
  /** The process ends once the loop has been blocked for this long; 0 means never. */
  exitSeconds: number;
  logFile: string;
}
/** From the main thread. */
export type ToWatchdog = { exitSeconds: number } | { deadlineMs: number; code: number };
/** To the main thread, once it runs again. */
export interface FromWatchdog {
  blockedMs: number;
}

interface Port {
  on(event: "message", listener: (message: ToWatchdog) => void): void;
  postMessage(message: FromWatchdog): void;
}

/**
 * Watches the main thread from a separate thread. It counts its own ticks, not the time: a machine that slept has
 * not blocked the loop.
 */
export function runWatchdog(data: WatchdogData, port: Port): void {
  let { exitSeconds } = data;
  let last = -1;
  let still = 0;
  let reported = false;
  let deadline: NodeJS.Timeout | undefined;

  const end = (code: number) => {
    loadExit()?.(code);
    process.kill(process.pid, "SIGKILL");
  };
  const say = (fields: Record<string, unknown>, msg: string) => {
    const time = Date.now();
    const line = JSON.stringify({ level: "error", time, ...fields, msg });
    try {
      // The main thread may have been blocked before it made the folder.
      mkdirSync(dirname(data.logFile), { recursive: true, mode: 0o700 });
      appendFileSync(data.logFile, `${line}\n`);
      const at = new Date(time).toISOString().slice(11, 19);
      writeSync(1, `${at} error ${msg} ${JSON.stringify(fields)}\n`);
    } catch {
      // A log that cannot be written must not keep the process alive.
    }
  };
  const report = async (blockedMs: number) => {
    const stack = await mainThreadStack();
    say({ blockedMs, ...(stack && { stack }) }, "the event loop is blocked");
  };
  const arm = (ms: number, code: number) => {
    clearTimeout(deadline);
    deadline = setTimeout(() => end(code), ms);
  };

  setInterval(() => {
    const beats = Atomics.load(data.beats, 0);
    if (beats !== last) {
      if (reported) port.postMessage({ blockedMs: still * BEAT_MS });
      last = beats;
      still = 0;
      reported = false;
      return;
    }
    still++;
    const blockedMs = still * BEAT_MS;
    if (!reported && blockedMs >= BLOCKED_MS) {
      reported = true;
      void report(blockedMs);
    }
    if (exitSeconds > 0 && blockedMs >= exitSeconds * 1000) {
      say({ blockedMs }, "the gateway has not answered for too long; ending it");
      end(EXIT_BLOCKED);
    }
  }, BEAT_MS);

  port.on("message", (message) => {
    if ("exitSeconds" in message) exitSeconds = message.exitSeconds;
    else arm(message.deadlineMs, message.code);
  });
  // A blocked loop does not receive signals.
  onSignals(["SIGTERM", "SIGINT"], () => {
    if (!deadline) arm(STOP_DEADLINE_MS, 0);
  });
}
