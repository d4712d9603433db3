import type { Reaper } from "../../lib/reaper.ts";
import type { Runtime } from "../types.ts";
import { inspectAcp, type Seen } from "./inspect.ts";
import { openAcpSession } from "./session.ts";

export interface AcpOptions {
  /** Program and first arguments: the agent's `command`. */
  command: readonly string[];
  /** The agent's `args`: appended. */
  args: readonly string[];
  /** The gateway's environment; an allow-list of it goes to the program. */
  hostEnv: Readonly<Record<string, string | undefined>>;
  reaper?: Reaper | undefined;
  /** The agent's configured `env`. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Folder that the command starts in. */
  cwd?: string | undefined;
  /** Tools of the agent program: all when unset. */
  allowTools?: boolean | readonly string[] | undefined;
  /** Retries of a failed model call, for programs that support a limit. */
  maxRetries?: number | undefined;
}

/**
 * Runs agents with any program that speaks the Agent Client Protocol, version 1, over its pipes
 * (https://agentclientprotocol.com): one process per session.
 *
 * @example
 * const runtime = createAcpRuntime({ command: ["codex-acp"], args: [], hostEnv: process.env, reaper });
 * const session = await runtime.open(options);
 */
export function createAcpRuntime(options: AcpOptions): Runtime {
  const seen: Seen = {
    agentName: null,
    version: null,
    login: "unknown",
    models: null,
    refusedModel: null,
    unreachable: new Set(),
  };
  return {
    type: "acp",
    models: () => seen.models,
    inspect: () => inspectAcp(options, seen),
    open: (session) => openAcpSession(options, session, seen),
  };
}
