import type { AgentConfig } from "../config/index.ts";
import { makeFolder } from "../lib/guarded/index.ts";
import { spawnProcess } from "../lib/process.ts";
import { childEnvironment } from "../lib/shared-env.ts";
import type { CronDeps } from "./ports.ts";
import { tailOf } from "./tail.ts";

export interface CommandEnd {
  state: "ok" | "error" | "interrupted";
  output: string;
  error: string | null;
}

/** After SIGTERM, the program and all that it started have this long. */
const GRACE_MS = 1_000;

/**
 * Runs a command to its end, with the folder and the environment of the agent's programs. Never rejects.
 * @param signal ends it as interrupted
 */
export async function runCommand(
  { env, log, reaper, clock }: Pick<CronDeps, "env" | "log" | "reaper" | "clock">,
  agent: AgentConfig,
  command: string | readonly string[],
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<CommandEnd> {
  const tail = tailOf();
  let late = false;
  const failed = (error: string): CommandEnd => ({ state: "error", output: tail.text(), error });
  try {
    await makeFolder(agent.workspace);
    const child = await spawnProcess({
      command: typeof command === "string" ? ["/bin/sh", "-c", command] : command,
      cwd: agent.workspace,
      env: childEnvironment(env, agent.env),
      log: log.child({ agent: agent.id }),
      reaper,
      clock,
      mayCloseOutput: true,
      onStdout: (chunk) => tail.add(chunk),
      onStderr: (text) => tail.add(Buffer.from(text)),
    });
    child.endInput();
    let cancelKill = () => {};
    const end = () => {
      child.kill("SIGTERM");
      cancelKill = clock.after(GRACE_MS, () => child.kill("SIGKILL"));
    };
    const cancelLimit = clock.after(timeoutMs, () => {
      late = true;
      end();
    });
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
    const { code, signal: killedBy } = await child.exited;
    signal.removeEventListener("abort", end);
    cancelLimit();
    cancelKill();
    if (late) return failed(`It took longer than ${timeoutMs / 1000} s and was ended.`);
    if (signal.aborted) return { state: "interrupted", output: tail.text(), error: "It was stopped." };
    if (code === 0) return { state: "ok", output: tail.text(), error: null };
    return failed(code === null ? `It was ended by ${killedBy}.` : `It ended with exit code ${code}.`);
  } catch (error) {
    log.warn({ err: error, agent: agent.id }, "could not run a scheduled command");
    return failed(sentenceOf(error));
  }
}

/** What the starter of programs says of an agent's program holds for a command too. */
function sentenceOf(error: unknown): string {
  const text = error instanceof Error ? error.message : "";
  if (/^The agent program [^/]*$/.test(text)) return text.replace("The agent program", "The command");
  return "The command could not be started.";
}
