import { fileURLToPath } from "node:url";
import { mcpBridgeEntry } from "../../lib/entry.ts";
import type { Fields } from "../agent-cli/index.ts";
import type { McpServer } from "../types.ts";
import type { AgentTraits } from "./handshake.ts";

/** Entries for `session/new`. A server whose transport the agent does not speak is reached by a program of the gateway. */
export function describeServers(
  servers: Readonly<Record<string, McpServer>>,
  { mcp }: Pick<AgentTraits, "mcp">,
): Fields[] {
  return Object.entries(servers).map(([name, server]): Fields => {
    if ("command" in server) {
      const { command, args = [], env } = server;
      return { name, command, args, env: pairs(env) };
    }
    const { type = "http", url, headers = {} } = server;
    if (mcp[type]) return { type, name, url, headers: pairs(headers) };
    const bridged = { AGENT_GATEWAY_MCP_SERVER: JSON.stringify({ type, url, headers }) };
    return { name, command: process.execPath, args: [fileURLToPath(mcpBridgeEntry())], env: pairs(bridged) };
  });
}

const pairs = (values: Readonly<Record<string, string>> = {}) =>
  Object.entries(values).map(([name, value]) => ({ name, value }));
