import { createLineSplitter } from "../../lib/jsonl.ts";
import { type ManagedProcess, spawnProcess } from "../../lib/process.ts";
import { childEnvironment } from "../../lib/shared-env.ts";
import { createUnreadLimit } from "../../lib/unread.ts";
import type { OpenOptions } from "../types.ts";
import { retryEnvironment } from "../upstream.ts";
import { createRpcPeer, type RpcOptions, type RpcPeer } from "./json-rpc.ts";
import type { Limits } from "./limit-request.ts";
import type { AcpOptions } from "./options.ts";

/** An agent's process and the connection over its pipes. */
export interface Link {
  readonly process: ManagedProcess;
  readonly rpc: RpcPeer;
}

/**
 * Starts the agent program. Its end ends the connection.
 * @throws Error with one sentence when it cannot be started.
 */
export async function openLink(
  { command, args, hostEnv, reaper, maxRetries }: AcpOptions,
  { cwd, env, log, clock, onOutput }: Pick<OpenOptions, "cwd" | "env" | "log" | "clock" | "onOutput">,
  handlers: Pick<RpcOptions, "onRequest" | "onNotification"> & { onStderr(text: string): void },
  limits: Limits = {},
): Promise<Link> {
  const rpc = createRpcPeer({
    ...handlers,
    clock,
    write: (line) => agent && unread(agent.write(line), line.length),
  });
  const lines = createLineSplitter(rpc.receive, {
    onOverflow() {
      log.error({}, "the agent wrote a line that is too long");
      agent?.kill("SIGKILL");
    },
  });
  // Which provider an agent uses is its own business.
  const families = ["anthropic", "openai", "google"] as const;
  let agent: ManagedProcess | undefined;
  agent = await spawnProcess({
    command: [...withoutFlags([...command, ...args], limits.without ?? []), ...(limits.args ?? [])],
    cwd,
    env: childEnvironment(
      hostEnv,
      { ...retryEnvironment(hostEnv, maxRetries), ...env, ...limits.env },
      { families },
    ),
    log,
    clock,
    reaper,
    onStdout(chunk) {
      onOutput?.();
      lines.push(chunk);
    },
    onStderr: handlers.onStderr,
  });
  const unread = createUnreadLimit(agent);
  void agent.exited.then(() => {
    lines.end();
    rpc.end();
  });
  return { process: agent, rpc };
}

/** Flags that stand alone; any other takes its value with it. */
const SWITCHES = new Set(["--yolo", "-y"]);

function withoutFlags(words: readonly string[], flags: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    const [flag] = word.split("=", 1);
    if (!flags.includes(flag!)) kept.push(word);
    else if (word === flag && !SWITCHES.has(flag) && !words[at + 1]?.startsWith("-")) at++;
  }
  return kept;
}
