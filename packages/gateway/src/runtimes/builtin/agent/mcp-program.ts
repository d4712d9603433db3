import { once } from "node:events";
import type { JSONRPCMessage, MCPTransport } from "@ai-sdk/mcp";
import { createLineSplitter } from "../../../lib/jsonl.ts";
import { spawnInGroup } from "../../../lib/process.ts";
import { childEnvironment } from "../../../lib/shared-env.ts";
import type { McpServer } from "../../types.ts";

/**
 * An MCP server that is a program, a message a line. Long messages are read in linear time, and a server whose message is
 * longer than any may be is ended.
 */
export function overStdio(server: Extract<McpServer, { command: string }>, cwd: string): MCPTransport {
  let child: ReturnType<typeof spawnInGroup> | undefined;
  const end = (signal: NodeJS.Signals) => {
    child?.kill(signal);
    child = undefined;
  };
  const transport: MCPTransport = {
    supportsProtocolVersionDiscovery: true,
    async start() {
      const env = childEnvironment(process.env, server.env);
      const program = spawnInGroup([server.command, ...(server.args ?? [])], { cwd, env });
      const spawned = once(program, "spawn");
      program.on("error", (error) => transport.onerror?.(error));
      const lines = createLineSplitter(
        (line) => {
          const message = parse(line);
          if (message) transport.onmessage?.(message);
        },
        { onOverflow: () => end("SIGKILL") },
      );
      program.stdout?.on("data", lines.push);
      // The end of the program tells the same.
      program.stdin?.on("error", () => {});
      program.once("close", () => {
        child = undefined;
        transport.onclose?.();
      });
      await spawned;
      child = program;
    },
    async send(message) {
      if (!child) throw new Error("The server has ended.");
      child.stdin?.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      end("SIGTERM");
    },
  };
  return transport;
}

function parse(line: string): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "jsonrpc" in value
      ? (value as JSONRPCMessage)
      : undefined;
  } catch {
    // Programs also print what is no message.
    return undefined;
  }
}
