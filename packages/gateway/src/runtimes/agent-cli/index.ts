import type { Runtime } from "../types.ts";
import { inspectAgentCli } from "./inspect.ts";
import type { Readings } from "./meter.ts";
import { openAgentCliSession } from "./session.ts";
import type { AgentCliOptions } from "./start.ts";

export type { AgentCliOptions };

/**
 * Runs agents by an agent CLI that speaks stream-JSON (Claude Code, or any program that answers `user` lines): one
 * process per session.
 *
 * @example
 * const runtime = createAgentCliRuntime({ command: ["claude"], args: [], hostEnv: process.env, reaper });
 * const session = await runtime.open(options);
 */
export function createAgentCliRuntime(options: AgentCliOptions): Runtime {
  const readings: Readings = new Map();
  return {
    type: "agent-cli",
    inspect: () => inspectAgentCli(options),
    open: (session) => openAgentCliSession(options, session, readings),
  };
}
