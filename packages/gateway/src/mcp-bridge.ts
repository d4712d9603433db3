/**
 * Lets agent programs that can only start MCP servers reach one at an address: relays the protocol between stdin and
 * stdout and that server. The address comes in the environment, because it may hold secrets.
 */
import {
  type JSONRPCMessage,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { createLineSplitter } from "./lib/jsonl.ts";

const { AGENT_GATEWAY_MCP_SERVER: text } = process.env;
if (!text) {
  process.stderr.write("This program is meant to be started by an agent that the gateway runs.\n");
  process.exit(2);
}
const UNREACHABLE = { code: -32000, message: "The server could not be reached." };

const { type, url, headers } = JSON.parse(text) as {
  type: "http" | "sse";
  url: string;
  headers: Record<string, string>;
};
const options = { requestInit: { headers } };
const transport: Transport =
  type === "sse"
    ? new SSEClientTransport(new URL(url), options)
    : new StreamableHTTPClientTransport(new URL(url), options);
let initializing: unknown;

const write = (message: unknown) => process.stdout.write(`${JSON.stringify(message)}\n`);

transport.onmessage = (message: JSONRPCMessage) => {
  if ("result" in message && initializing !== undefined && message.id === initializing) {
    const { protocolVersion } = message.result as { protocolVersion?: unknown };
    // From now on, the server is told with each request.
    if (typeof protocolVersion === "string") transport.setProtocolVersion?.(protocolVersion);
    initializing = undefined;
  }
  write(message);
};
transport.onclose = () => process.exit(0);
// What it says may hold the address, and what cannot be sent is answered below.
transport.onerror = () => {};

async function pass(line: string): Promise<void> {
  let message: JSONRPCMessage;
  try {
    message = JSON.parse(line) as JSONRPCMessage;
  } catch {
    return;
  }
  const id = "method" in message && "id" in message ? message.id : undefined;
  if ("method" in message && message.method === "initialize") initializing = id;
  try {
    await connected;
    await transport.send(message);
  } catch {
    if (id !== undefined) write({ jsonrpc: "2.0", id, error: UNREACHABLE });
  }
}

const connected = transport.start();
connected.catch(() => {});
const lines = createLineSplitter((line) => void pass(line));
process.stdin.on("data", lines.push);
process.stdin.on("end", () => process.exit(0));
