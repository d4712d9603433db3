import { createMCPClient, type MCPClientConfig } from "@ai-sdk/mcp";
import { dynamicTool, type ToolSet } from "ai";
import type { McpServer } from "../../types.ts";
import { overStdio } from "./mcp-program.ts";
import { isMcpResult, modelOutput } from "./mcp-result.ts";

/** How long one server may take to start and list its tools. */
const CONNECT_MS = 15_000;
/** Longest tool name that all providers take. */
const MAX_NAME = 64;

export interface ServerOptions {
  /** All tools, or these: `mcp__server__tool`, `mcp__server` for all of one, or the tool's bare name. */
  allow: true | readonly string[];
  cwd: string;
  toolImages: boolean;
  /** Awaited before each call of a tool; rejects with a message for the model. */
  acting(signal: AbortSignal | undefined): Promise<void>;
  warn(message: string, detail: string): void;
}

/**
 * Connects the agent's MCP servers at once and offers their tools as `mcp__<server>__<tool>`. A server that does not
 * answer is reported and left out. They end with this process' group.
 * @returns the tools, and the names of the servers that were left out.
 */
export async function connectServers(
  servers: Readonly<Record<string, McpServer>>,
  options: ServerOptions,
): Promise<{ tools: ToolSet; missing: string[] }> {
  const missing: string[] = [];
  const connected = await Promise.all(
    Object.entries(servers).map(async ([name, server]) => {
      try {
        return await toolsOf(name, server, options);
      } catch (error) {
        missing.push(name);
        options.warn(`could not use the MCP server ${name}`, error instanceof Error ? error.message : "");
        return {};
      }
    }),
  );
  return { tools: Object.assign({}, ...connected), missing };
}

async function toolsOf(server: string, config: McpServer, options: ServerOptions): Promise<ToolSet> {
  const client = await createMCPClient({
    transport: transportOf(config, options.cwd),
    clientName: "agent-gateway",
    initializationOptions: { timeout: CONNECT_MS },
    onUncaughtError: (error) => console.error(error),
  });
  const definitions = await client.listTools({ options: { timeout: CONNECT_MS } });
  const offered: ToolSet = {};
  for (const [name, tool] of Object.entries(client.toolsFromDefinitions(definitions))) {
    const full = `mcp__${server}__${name}`.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_NAME);
    if (!allowed(options.allow, [full, `mcp__${server}`, name])) continue;
    offered[full] = dynamicTool({
      description: typeof tool.description === "string" ? tool.description : "",
      inputSchema: tool.inputSchema,
      async execute(args, context) {
        await options.acting(context.abortSignal);
        return tool.execute(args, context);
      },
      toModelOutput: ({ output }) =>
        isMcpResult(output)
          ? modelOutput(output, options.toolImages)
          : { type: "text", value: JSON.stringify(output ?? null) },
    });
  }
  return offered;
}

function allowed(allow: true | readonly string[], names: readonly string[]): boolean {
  return allow === true || names.some((name) => allow.includes(name));
}

function transportOf(server: McpServer, cwd: string): MCPClientConfig["transport"] {
  if ("command" in server) return overStdio(server, cwd);
  return {
    type: server.type ?? "http",
    url: server.url,
    ...(server.headers && { headers: server.headers }),
  };
}
