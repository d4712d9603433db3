import type { Fields } from "../agent-cli/index.ts";
import type { McpServer } from "../types.ts";
import type { AgentTraits } from "./handshake.ts";

/**
 * Entries for `session/new`. A server that the agent cannot reach is left out.
 * @param left called for each of those, with its name
 */
export function describeServers(
  servers: Readonly<Record<string, McpServer>>,
  { mcp }: Pick<AgentTraits, "mcp">,
  left: (name: string) => void,
): Fields[] {
  return Object.entries(servers).flatMap(([name, server]): Fields[] => {
    if ("command" in server) {
      const { command, args = [], env } = server;
      return [{ name, command, args, env: pairs(env) }];
    }
    const { type = "http", url, headers } = server;
    if (mcp[type]) return [{ type, name, url, headers: pairs(headers) }];
    left(name);
    return [];
  });
}

const pairs = (values: Readonly<Record<string, string>> = {}) =>
  Object.entries(values).map(([name, value]) => ({ name, value }));
