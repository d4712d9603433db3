import { writeMcpFile } from "../mcp-file.ts";
import { releasedWith } from "../released.ts";
import type { OpenOptions, Runtime, RuntimeSession } from "../types.ts";
import { inspectAgentCli } from "./inspect.ts";
import type { Readings } from "./meter.ts";
import { openAgentCliSession } from "./session.ts";
import type { AgentCliOptions } from "./start.ts";

export { buildTerminalArguments, type Conversation } from "./args.ts";
export { readLogin } from "./login.ts";
export {
  type AgentLine,
  type Fields,
  isFields,
  nameOrNull,
  type ResultLine,
  readLine,
  textOrNull,
} from "./protocol.ts";
export { safeSentence } from "./safe-sentence.ts";
export { type Launch, nextConversation, prepareLaunch } from "./start.ts";
export { readSummary } from "./summary.ts";
export { createToolServer, GATEWAY_SERVER, type ToolServer } from "./tool-server.ts";
export { contextShare, newTurn, outcomeOf, reduceTurn, type TurnState } from "./turn-state.ts";

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
    open: (session) =>
      Object.keys(session.mcpServers).length === 0
        ? openAgentCliSession(options, session, readings)
        : openWithServers(options, session, readings),
  };
}

/** Secrets may not stand in arguments, so the program reads its tool servers from a file. */
async function openWithServers(
  runtime: AgentCliOptions,
  options: OpenOptions,
  readings: Readings,
): Promise<RuntimeSession> {
  const file = await writeMcpFile(options.sessionDir, options.mcpServers, runtime.mcpNotes);
  try {
    return releasedWith(await openAgentCliSession(runtime, options, readings, file.path), file.remove);
  } catch (error) {
    await file.remove();
    throw error;
  }
}
