import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { bin, until } from "./harness.ts";

export interface Program {
  process: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves to the exit code, null after a signal, with all output read. */
  ended: Promise<number | null>;
  /** Waits for what the pattern finds in stdout. */
  says(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>;
}

export interface ProgramOptions {
  env?: Record<string, string | undefined>;
  cwd?: string;
}

const OWN =
  /^(GATEWAY_|PORT$|AGENT_CLI_BIN$|MODELS_|(ANTHROPIC|OPENAI)_API_KEY$|NODE_OPTIONS$|VITEST|INIT_CWD$)/;
const NPM_SETTING = /^npm_config_(cache|registry|userconfig|globalconfig|(https?_)?proxy|noproxy|cafile)$/;

/** The environment of a person's shell: nothing of the gateway, of npm's running script or of the test runner. */
export function shellEnvironment(): Record<string, string | undefined> {
  const entries = Object.entries(process.env).filter(
    ([name]) => !OWN.test(name) && (!name.startsWith("npm_") || NPM_SETTING.test(name)),
  );
  const PATH = (process.env.PATH ?? "").split(":").filter((folder) => !folder.includes("node_modules"));
  return { ...Object.fromEntries(entries), PATH: PATH.join(":") };
}

/** Starts a program in a process group of its own, which ends with the test. */
export function startProgram([command, ...args]: readonly string[], options: ProgramOptions = {}): Program {
  const child = spawn(command!, args, {
    cwd: options.cwd,
    env: { ...shellEnvironment(), ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]!.setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  let over = false;
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  }).finally(() => {
    over = true;
  });
  onTestFinished(async () => {
    if (over || child.pid === undefined) return;
    process.kill(-child.pid, "SIGKILL");
    await ended;
  });
  return {
    process: child,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    ended,
    says: (pattern, timeoutMs = 20_000) =>
      until(
        () => {
          const found = pattern.exec(output.stdout);
          if (!found && over) throw new Error(`it ended:\n${output.stdout}${output.stderr}`);
          return found;
        },
        `${pattern} from ${command}`,
        timeoutMs,
      ),
  };
}

/** Starts the built gateway on a free port, unless the environment says another. */
export function startBin(home: string, options: ProgramOptions & { args?: readonly string[] } = {}): Program {
  return startProgram([process.execPath, bin, "start", ...(options.args ?? [])], {
    ...options,
    env: { GATEWAY_HOME: home, PORT: "0", ...options.env },
  });
}

/** Runs a program to its end. */
export async function runProgram(argv: readonly string[], options: ProgramOptions = {}) {
  const program = startProgram(argv, options);
  const code = await program.ended;
  return { code, stdout: program.stdout(), stderr: program.stderr() };
}

export const LISTENING = /^gateway listening on (http:\/\/\S+)$/m;

/** A folder of its own, mode 0700, that goes with the test. */
export async function ownFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "agent-gateway-own-"));
  await chmod(folder, 0o700);
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
