import type { IPty } from "@lydell/node-pty";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { dyingWithUs, killGroup, resolveProgram } from "../../lib/process.ts";
import type { Reaper } from "../../lib/reaper.ts";
import { COLS, ROWS } from "./screen.ts";

export interface ProgramOptions {
  command: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  reaper: Reaper | undefined;
  log: Logger;
  clock: Clock;
  onOutput(bytes: Uint8Array): void;
}

/** A program in a pseudo-terminal that leads its own session and process group. */
export interface TerminalProgram {
  readonly pid: number;
  write(keys: string): void;
  /** Its output is not read until `resume`, so that it has to wait. */
  pause(): void;
  resume(): void;
  /** Signals the whole group. */
  kill(signal: NodeJS.Signals): void;
  /** Resolves after the exit and the last of its output. */
  readonly exited: Promise<{ code: number | null }>;
  /** SIGTERM to the group; SIGKILL after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/**
 * Starts a program in a pseudo-terminal.
 * @throws Error with one sentence, free of paths, when it cannot be started
 */
export async function startInTerminal(options: ProgramOptions): Promise<TerminalProgram> {
  const { command, cwd, env, log, reaper, clock } = options;
  const [program, ...args] = await dyingWithUs(await resolveProgram(command, cwd, env));
  const { spawn } = await import("@lydell/node-pty");
  const mark = reaper?.mark();
  let pty: IPty;
  try {
    pty = spawn(program!, args, {
      name: "xterm-256color",
      cols: COLS,
      rows: ROWS,
      cwd,
      env: { ...env, ...mark?.env },
      encoding: null,
    });
  } catch (error) {
    log.error({ err: error }, "could not open a pseudo-terminal");
    throw new Error("The agent program could not be started in a terminal.", { cause: error });
  }
  const { pid } = pty;
  void reaper?.track(pid);
  let gone = false;
  let paused = false;
  const kill = (signal: NodeJS.Signals) => killGroup(pid, signal);
  // Without an encoding the data are bytes.
  pty.onData((data) => options.onOutput(data as unknown as Uint8Array));
  const exited = new Promise<{ code: number | null }>((done) => {
    pty.onExit(({ exitCode, signal }) => {
      gone = true;
      kill("SIGKILL");
      // What called setsid has left the group, but not its environment.
      if (mark) void reaper?.sweep(mark);
      void reaper?.untrack(pid);
      log.debug({ pid, exitCode, signal }, "process ended");
      done({ code: signal ? null : exitCode });
    });
  });
  return {
    pid,
    exited,
    kill,
    write(keys) {
      if (!gone) pty.write(keys);
    },
    pause() {
      if (gone || paused) return;
      paused = true;
      pty.pause();
    },
    resume() {
      if (!paused) return;
      paused = false;
      pty.resume();
    },
    async close(graceMs) {
      if (gone) return;
      kill("SIGTERM");
      const cancel = clock.after(graceMs, () => kill("SIGKILL"));
      await exited;
      cancel();
    },
  };
}
