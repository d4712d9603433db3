import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { resolveProgram, spawnProcess } from "../lib/process.ts";

/** Longest result of a program that is read. */
const MAX_STDOUT_BYTES = 1024 * 1024;
/** How much of the end of its output is kept for people. */
const TAIL_BYTES = 8192;
/** npm takes back what it has begun when it is told to stop; then it is killed. */
const STOP_GRACE_MS = 10_000;

export interface Ran {
  /** The exit code; null after a signal, a time limit, or when it could not start. */
  code: number | null;
  /** Undefined when it was more than 1 MiB. */
  stdout: string | undefined;
  /** The end of what it wrote, on stderr or anywhere. */
  stderr: string;
  tail: string;
  /** Why it has no exit code of its own, as half a sentence. */
  problem?: "was not found" | "could not be started" | "took too long";
}

export interface RunOptions {
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
  /** It goes on when the gateway dies, and is asked to stop before it is killed. */
  mayOutlive?: true;
  /** Called with its process id as soon as it runs. */
  onStart?(pid: number): Promise<void>;
}

export type Run = (command: readonly string[], options: RunOptions) => Promise<Ran>;

interface RunDeps {
  clock: Clock;
  log: Logger;
  /** Working folder of every program. */
  cwd: string;
}

/** Keeps the last bytes of a stream. */
function createTail(max: number) {
  let kept: Buffer = Buffer.alloc(0);
  return {
    add(chunk: Buffer) {
      kept =
        chunk.length >= max ? Buffer.from(chunk.subarray(-max)) : Buffer.concat([kept, chunk]).subarray(-max);
    },
    text: () => kept.toString("utf8"),
  };
}

/** Runs programs that end by themselves, with a bounded part of their output in memory. Never rejects. */
export function createRun({ clock, log, cwd }: RunDeps): Run {
  return async (command, { env, timeoutMs, mayOutlive, onStart }) => {
    const nothing = { code: null, stdout: undefined, stderr: "", tail: "" };
    try {
      await resolveProgram(command, cwd, env);
    } catch {
      return { ...nothing, problem: "was not found" };
    }
    const chunks: Buffer[] = [];
    let size = 0;
    const tail = createTail(TAIL_BYTES);
    const take = (chunk: Buffer) => {
      tail.add(chunk);
      size += chunk.length;
      if (size <= MAX_STDOUT_BYTES) chunks.push(chunk);
      else chunks.length = 0;
    };
    try {
      const child = await spawnProcess({
        command,
        cwd,
        env,
        log,
        clock,
        mayCloseOutput: true,
        ...(mayOutlive && { mayOutlive }),
        onStdout: take,
        onStderr: (text) => tail.add(Buffer.from(text)),
      });
      child.endInput();
      let late = false;
      const cancel = clock.after(timeoutMs, () => {
        late = true;
        child.kill(mayOutlive ? "SIGTERM" : "SIGKILL");
      });
      const cancelKill = clock.after(timeoutMs + STOP_GRACE_MS, () => child.kill("SIGKILL"));
      await onStart?.(child.pid).catch((error) => log.warn({ err: error }, "could not note a program"));
      const { code } = await child.exited;
      cancel();
      cancelKill();
      const stdout = size > MAX_STDOUT_BYTES ? undefined : Buffer.concat(chunks).toString("utf8");
      const said = { stdout, stderr: child.stderrTail(), tail: tail.text() };
      return late ? { ...said, code: null, problem: "took too long" } : { ...said, code };
    } catch (error) {
      log.warn({ err: error }, "could not start a program of the package manager");
      return { ...nothing, problem: "could not be started" };
    }
  };
}
