import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { toolServerEntry } from "../lib/entry.ts";
import { type Folder, openRoot } from "../lib/guarded/index.ts";
import { createLineSplitter } from "../lib/jsonl.ts";
import type { Logger } from "../lib/logger.ts";
import { createUnreadLimit } from "../lib/unread.ts";
import {
  createToolServer,
  type Fields,
  GATEWAY_SERVER,
  isFields,
  type ToolServer,
} from "./agent-cli/index.ts";
import type { GatewayTool } from "./types.ts";

/** Longest path of a socket: unix(7) gives 107 characters, macOS 103. */
const MAX_PATH = 100;
/** Longest message of an agent to a tool, in bytes. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** An agent starts one tool server, or one for each of its own agents; each connection is a descriptor of the gateway. */
const MAX_CONNECTIONS = 16;
/** `mcp-stdio` sends the token as its first act. */
const PROOF_MS = 10_000;
const PREFIX = "agent-gateway-tools-";
const SOCKET = "socket";
/** A folder with more entries was filled by something else. */
const MAX_ENTRIES = 10_000;

export interface ToolBridge {
  /** The program that the agent starts for its tools. */
  readonly program: { command: string; args: string[]; env: Record<string, string> };
  /** The same as an entry of ACP's `mcpServers`. */
  readonly server: Fields;
  close(): Promise<void>;
}

/**
 * Offers the gateway's tools to a program that starts its tool servers by itself: it starts `mcp-stdio`, which comes
 * back over a socket of this session alone and proves itself by a token of this process alone. Both end with `close`.
 * @param sessionDir folder for the socket; a short one in the system's temp folder takes its place when it is too deep.
 */
export async function openToolBridge({
  tools,
  sessionDir,
  log,
}: {
  tools: readonly GatewayTool[];
  sessionDir: string;
  log: Logger;
}): Promise<ToolBridge> {
  const token = randomBytes(32).toString("hex");
  const place = await placeFor(sessionDir);
  const answer = createToolServer(tools);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    serve(socket, token, answer);
  });
  server.maxConnections = MAX_CONNECTIONS;
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
    await place
      .remove()
      .catch((error: unknown) => log.warn({ err: error }, "could not remove a tool socket"));
  };
  try {
    await listen(server, place.path);
  } catch (error) {
    await close();
    log.error({ err: error }, "could not open the tool socket");
    throw new Error("Could not offer the gateway's tools to the agent.", { cause: error });
  }
  const program = {
    command: process.execPath,
    args: [fileURLToPath(toolServerEntry())],
    env: { AGENT_GATEWAY_TOOLS_SOCKET: place.path, AGENT_GATEWAY_TOOLS_TOKEN: token },
  };
  const env = Object.entries(program.env).map(([name, value]) => ({ name, value }));
  return { program, server: { name: GATEWAY_SERVER, ...program, env }, close };
}

/** First line: the token. Then JSON-RPC messages, one a line, each way. */
function serve(socket: Socket, token: string, answer: ToolServer): void {
  let proven = false;
  socket.setTimeout(PROOF_MS, () => socket.destroy());
  const receive = async (line: string) => {
    if (!proven) {
      proven = sameToken(line, token);
      if (proven) socket.setTimeout(0);
      else socket.destroy();
      return;
    }
    const message = parse(line);
    // Without an id it is a notification, without a method the answer to a question that was never asked.
    if (message?.id === undefined || message.method === undefined) return;
    const reply = await answer(message);
    if (socket.writable && !socket.write(`${JSON.stringify(reply)}\n`)) await drained(socket);
  };
  const unread = createUnreadLimit(socket);
  const lines = createLineSplitter((line) => unread(receive(line), line.length), {
    maxBytes: MAX_MESSAGE_BYTES,
    onOverflow: () => socket.destroy(),
  });
  socket.on("data", lines.push);
}

function drained(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => socket.once("drain", resolve).once("close", resolve));
}

function sameToken(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function parse(line: string): Fields | null {
  try {
    const value: unknown = JSON.parse(line);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

async function listen(server: Server, path: string): Promise<void> {
  server.listen(path);
  await once(server, "listening");
  server.on("error", () => {});
}

/** Where the socket goes: named by this process, so that what an earlier one left behind is known and removed. */
async function placeFor(sessionDir: string): Promise<{ path: string; remove(): Promise<void> }> {
  const name = `${PREFIX}${process.pid}-${randomBytes(3).toString("hex")}`;
  const path = join(sessionDir, name);
  if (path.length <= MAX_PATH) {
    await inFolder(sessionDir, removeLeftovers);
    return { path, remove: () => inFolder(sessionDir, (folder) => folder.remove(name)) };
  }
  await inFolder(tmpdir(), removeLeftovers);
  const dir = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
  return { path: join(dir, SOCKET), remove: () => rm(dir, { recursive: true, force: true }) };
}

/** Does something in a folder; one that is gone needs nothing. */
async function inFolder(path: string, task: (folder: Folder) => Promise<void>): Promise<void> {
  const folder = await openRoot(path).catch(() => undefined);
  await (folder && task(folder).finally(() => folder.close()));
}

/** Removes the sockets of gateways that were killed. Leaves other users' files alone. */
async function removeLeftovers(folder: Folder): Promise<void> {
  for await (const entry of folder.entries(MAX_ENTRIES)) {
    const pid = entry.name.startsWith(PREFIX)
      ? Number.parseInt(entry.name.slice(PREFIX.length), 10)
      : Number.NaN;
    if (Number.isNaN(pid) || isRunning(pid)) continue;
    if (!entry.isDirectory()) await folder.remove(entry.name).catch(() => {});
    else await removeSocketFolder(folder, entry.name).catch(() => {});
  }
}

async function removeSocketFolder(outer: Folder, name: string): Promise<void> {
  const folder = await outer.folder(name);
  await folder.remove(SOCKET).finally(() => folder.close());
  await outer.removeFolder(name);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
