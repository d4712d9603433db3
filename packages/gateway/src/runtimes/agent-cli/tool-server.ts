import type { GatewayTool } from "../types.ts";
import { type Fields, isFields, textOrNull } from "./protocol.ts";

/** Name of the gateway's tool server; the agent sees its tools as `mcp__gateway__<name>`. */
export const GATEWAY_SERVER = "gateway";
const TOOL_PREFIX = `mcp__${GATEWAY_SERVER}__`;
/** Spoken when the client names no version (Model Context Protocol). */
const PROTOCOL_VERSION = "2025-06-18";
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

export function isGatewayTool(name: string): boolean {
  return name.startsWith(TOOL_PREFIX);
}

/** Answers one JSON-RPC message of the Model Context Protocol; notifications get an empty acknowledgement. */
export type ToolServer = (message: Fields) => Promise<Fields>;

/** The gateway's tools as a tool server that lives in this process and is reached over the control channel. */
export function createToolServer(tools: readonly GatewayTool[]): ToolServer {
  const call = async (params: Fields): Promise<Fields | null> => {
    const tool = tools.find((candidate) => candidate.name === params.name);
    if (!tool) return null;
    try {
      const text = await tool.call(isFields(params.arguments) ? params.arguments : {});
      return { content: [{ type: "text", text }] };
    } catch (error) {
      const text = error instanceof Error ? error.message : "The tool failed.";
      return { content: [{ type: "text", text }], isError: true };
    }
  };

  return async (message) => {
    const params = isFields(message.params) ? message.params : {};
    const reply = (body: Fields): Fields => ({ jsonrpc: "2.0", id: message.id ?? 0, ...body });
    switch (message.method) {
      case "initialize":
        return reply({
          result: {
            protocolVersion: textOrNull(params.protocolVersion) ?? PROTOCOL_VERSION,
            capabilities: { tools: {} },
            serverInfo: { name: GATEWAY_SERVER, version: "1.0.0" },
          },
        });
      case "ping":
        return reply({ result: {} });
      case "tools/list":
        return reply({ result: { tools: tools.map(describe) } });
      case "tools/call": {
        const result = await call(params);
        return reply(result ? { result } : { error: { code: INVALID_PARAMS, message: "Unknown tool." } });
      }
      default:
        if (message.id === undefined) return reply({ result: {} });
        return reply({ error: { code: METHOD_NOT_FOUND, message: "Method not found." } });
    }
  };
}

function describe({ name, description, inputSchema }: GatewayTool): Fields {
  // Claude Code hides tools of servers behind a search unless they ask to be always there (2.1.329).
  return { name, description, inputSchema, _meta: { "anthropic/alwaysLoad": true } };
}
