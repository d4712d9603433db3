import type { Runtime } from "../types.ts";
import { inspectAcp, type Seen } from "./inspect.ts";
import type { AcpOptions } from "./options.ts";
import { openAcpSession } from "./session.ts";

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
  };
  return {
    type: "acp",
    models: () => seen.models,
    inspect: () => inspectAcp(options, seen),
    open: (session) => openAcpSession(options, session, seen),
  };
}
