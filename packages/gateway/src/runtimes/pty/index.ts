import type { AgentCliOptions } from "../agent-cli/index.ts";
import { GATEWAY_SERVER } from "../agent-cli/index.ts";
import { writeMcpFile } from "../mcp-file.ts";
import { releasedWith } from "../released.ts";
import { openToolBridge } from "../tool-bridge.ts";
import type { McpServer, OpenOptions, RuntimeSession } from "../types.ts";
import { openTerminalSession } from "./session.ts";

/**
 * Starts a session of an agent CLI in a pseudo-terminal. The program finds the gateway's own tools beside the tool
 * servers outside the gateway, in a private file that is gone with its process.
 */
export async function openInTerminal(
  runtime: AgentCliOptions,
  options: OpenOptions,
): Promise<RuntimeSession> {
  const bridge = options.tools.length > 0 ? await openToolBridge(options) : undefined;
  const servers: Record<string, McpServer> = { ...options.mcpServers };
  if (bridge) servers[GATEWAY_SERVER] = bridge.program;
  const file =
    Object.keys(servers).length > 0
      ? await writeMcpFile(options.sessionDir, servers, runtime.mcpNotes).catch(async (error: unknown) => {
          await bridge?.close();
          throw error;
        })
      : undefined;
  const release = async () => {
    await Promise.all([bridge?.close(), file?.remove()]);
  };
  try {
    return releasedWith(await openTerminalSession(runtime, options, file?.path), release);
  } catch (error) {
    await release();
    throw error;
  }
}
