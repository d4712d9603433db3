import { type ChildProcess, execFile, spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { Reaper } from "./child-mark.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { Logger } from "./logger.ts";

const STDERR_TAIL_CHARS = 8192;
/** A program that closed its output gets this long to exit by itself, and again after SIGTERM. */
const SILENT_GRACE_MS = 1000;
/** How long a reader of stdout is waited for after the exit, when a stray descendant still holds the pipe. */
const STDIO_GRACE_MS = 500;
const CLOSE_GRACE_MS = 1000;

export interface SpawnOptions {
  /** Program and arguments; never a shell line. */
  command: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  log: Logger;
  onStdout(chunk: Buffer): void;
  onStderr?: (text: string) => void;
  /** Keeps the process from outliving the gateway. */
  reaper?: Reaper | undefined;
  clock?: Clock;
  /** Closing its output says nothing about it. Otherwise such a program is ended soon. */
  mayCloseOutput?: true;
  /** It goes on when the gateway dies: what it does must not be left half done. */
  mayOutlive?: true;
}

export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A child that leads its own process group. When it exits, whatever is left of its group, and carries its mark, is killed. */
export interface ManagedProcess {
  readonly pid: number;
  /** Writes to stdin unchanged (add the newline). Resolves when more may be written; never rejects. */
  write(text: string): Promise<void>;
  endInput(): void;
  /** Its output is not read until `resume`, or until it has exited. */
  pause(): void;
  resume(): void;
  /** Signals the whole group. */
  kill(signal: NodeJS.Signals): void;
  /** Resolves after the exit and after the last of stdout was handed on. */
  readonly exited: Promise<ProcessExit>;
  /** Ends stdin; SIGTERM to the group after `graceMs` (default 1000), SIGKILL after as much again. */
  close(options?: { graceMs?: number }): Promise<void>;
  /** The last 8,192 characters of stderr. */
  stderrTail(): string;
}

/**
 * Starts a program in a process group of its own.
 * @throws Error with one sentence, free of paths, when the program or its folder does not exist or may not be run.
 */
export async function spawnProcess(options: SpawnOptions): Promise<ManagedProcess> {
  const { command, cwd, env, log, reaper, clock = systemClock } = options;
  const resolved = await resolveProgram(command, cwd, env);
  const [program, ...args] = options.mayOutlive ? resolved : await dyingWithUs(resolved);
  const mark = reaper?.mark();
  const child = spawn(program!, args, {
    cwd,
    env: { ...env, ...mark?.env },
    detached: true,
    windowsHide: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  // A stream error (EPIPE after the exit) is the exit's business, which is reported by itself.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
  await started(child, cwd);
  const pid = child.pid!;
  void reaper?.track(pid);

  const kill = (signal: NodeJS.Signals) => killGroup(pid, signal);
  let tail = "";
  /** A failure in handling one program's output ends at most that program, never the gateway. */
  const contained = (take: () => void) => {
    try {
      take();
    } catch (error) {
      log.error({ err: error, pid }, "could not handle a program's output; ending the program");
      child.stdout.destroy();
      child.stderr.destroy();
      kill("SIGKILL");
    }
  };
  child.stdout.on("data", (chunk: Buffer) => contained(() => options.onStdout(chunk)));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-STDERR_TAIL_CHARS);
    contained(() => options.onStderr?.(text));
  });

  let gone = false;
  child.stdout.once("end", () => {
    if (gone || options.mayCloseOutput) return;
    const cancelTerm = clock.after(SILENT_GRACE_MS, () => kill("SIGTERM"));
    const cancelKill = clock.after(SILENT_GRACE_MS * 2, () => kill("SIGKILL"));
    child.once("exit", () => {
      cancelTerm();
      cancelKill();
    });
  });
  const exited = new Promise<ProcessExit>((done) => {
    child.once("exit", (code, signal) => {
      gone = true;
      kill("SIGKILL");
      // What is left is no more than the pipes hold.
      child.stdout.resume();
      child.stderr.resume();
      // What called setsid has left the group, but not its environment.
      if (mark) void reaper?.sweep(mark);
      const cancel = clock.after(STDIO_GRACE_MS, () => {
        child.stdout.destroy();
        child.stderr.destroy();
      });
      child.once("close", () => {
        cancel();
        void reaper?.untrack(pid);
        log.debug({ pid, code, signal }, "process ended");
        done({ code, signal });
      });
    });
  });
  child.on("error", () => {});

  let closing: Promise<void> | undefined;
  let drained: Promise<void> | undefined;
  return {
    pid,
    exited,
    kill,
    write(text) {
      if (gone || !child.stdin.writable) return Promise.resolve();
      if (child.stdin.write(text)) return Promise.resolve();
      drained ??= new Promise((done) => {
        const resume = () => {
          drained = undefined;
          done();
        };
        child.stdin.once("drain", resume).once("close", resume);
      });
      return drained;
    },
    endInput: () => child.stdin.end(),
    pause() {
      if (gone) return;
      child.stdout.pause();
      child.stderr.pause();
    },
    resume() {
      child.stdout.resume();
      child.stderr.resume();
    },
    close({ graceMs = CLOSE_GRACE_MS } = {}) {
      closing ??= (async () => {
        if (gone) return void (await exited);
        child.stdin.end();
        const cancelTerm = clock.after(graceMs, () => kill("SIGTERM"));
        const cancelKill = clock.after(graceMs * 2, () => kill("SIGKILL"));
        await exited;
        cancelTerm();
        cancelKill();
      })();
      return closing;
    },
    stderrTail: () => tail,
  };
}

/** Runs a short-lived program to its end. Never rejects: `code` is null when it could not run or took too long. */
export function runProgram(
  command: readonly string[],
  { env, cwd, timeoutMs }: { env: Readonly<Record<string, string>>; cwd?: string; timeoutMs: number },
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const [program, ...args] = command;
  return new Promise((done) => {
    const options = { env, timeout: timeoutMs, killSignal: "SIGKILL" as const, maxBuffer: 1 << 20 };
    const child = execFile(
      program!,
      args,
      cwd === undefined ? options : { ...options, cwd },
      (error, stdout, stderr) =>
        done({ code: error ? (typeof error.code === "number" ? error.code : null) : 0, stdout, stderr }),
    );
    child.stdin?.on("error", () => {}).end();
  });
}

/**
 * Finds the program the way `execvp` does, so that a missing one is told apart from one that fails.
 * @returns the command with an absolute program.
 */
export async function resolveProgram(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string[]> {
  const [name, ...args] = command;
  if (!name) throw new Error("No program is configured for the agent.");
  const candidates =
    name.includes("/") || isAbsolute(name)
      ? [resolve(cwd, name)]
      : (env.PATH ?? "")
          .split(delimiter)
          .filter(Boolean)
          .map((dir) => join(resolve(cwd, dir), name));
  let refused = false;
  for (const path of candidates) {
    try {
      if (!(await stat(path)).isFile()) continue;
      await access(path, constants.X_OK);
      return [path, ...args];
    } catch (error) {
      refused ||= (error as NodeJS.ErrnoException).code === "EACCES";
    }
  }
  throw new Error(refused ? "The agent program may not be executed." : "The agent program was not found.");
}

function started(child: ChildProcess, cwd: string): Promise<void> {
  return new Promise((done, fail) => {
    child.once("spawn", () => done());
    child.once("error", async (error: NodeJS.ErrnoException) => {
      const folder = await stat(cwd).then(
        (info) => info.isDirectory(),
        () => false,
      );
      const reason = !folder ? "its working folder does not exist" : (error.code ?? "unknown reason");
      fail(new Error(`The agent program could not be started: ${reason}.`));
    });
  });
}

/** Signals every process of a group. */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // No process is left in the group.
  }
}

let deathSignal: Promise<string | null> | undefined;

/**
 * Has the kernel kill the child when the gateway dies, `kill -9` included, where util-linux' `setpriv` is there to ask
 * for it (Linux, PR_SET_PDEATHSIG): it sets the flag and becomes the program, so pid and pipes stay the same.
 */
export async function dyingWithUs(command: string[]): Promise<string[]> {
  deathSignal ??= findSetpriv();
  const setpriv = await deathSignal;
  return setpriv === null ? command : [setpriv, "--pdeathsig", "KILL", "--", ...command];
}

async function findSetpriv(): Promise<string | null> {
  if (process.platform !== "linux") return null;
  for (const path of ["/usr/bin/setpriv", "/bin/setpriv"]) {
    const { code } = await runProgram([path, "--pdeathsig", "KILL", "--", "/bin/true"], {
      env: {},
      timeoutMs: 2000,
    });
    if (code === 0) return path;
  }
  return null;
}

/** Starts a program in the process group of this one, with which it ends: for what an agent's own process starts. */
export const spawnInGroup = (
  [program, ...args]: readonly [string, ...string[]],
  { cwd, env }: Pick<SpawnOptions, "cwd" | "env">,
): ChildProcess => spawn(program, args, { cwd, env, stdio: ["pipe", "pipe", "ignore"], windowsHide: true });
