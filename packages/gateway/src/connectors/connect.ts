import {
  Client,
  type FetchLike,
  type JSONRPCMessage,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import type { Reaper } from "../lib/child-mark.ts";
import type { Clock } from "../lib/clock.ts";
import { createLineSplitter } from "../lib/jsonl.ts";
import type { Logger } from "../lib/logger.ts";
import { oneLine } from "../lib/one-line.ts";
import { type ManagedProcess, spawnProcess } from "../lib/process.ts";
import { childEnvironment } from "../lib/shared-env.ts";
import type { McpServer } from "../runtimes/index.ts";
import { maskOf } from "./mask.ts";

/** How long a server may take to start and list its tools. */
const LIMIT_MS = 15_000;
/** Of one message over stdio, and of one reply over HTTP. */
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_TOOLS = 1000;
const MAX_NAME = 200;
const MAX_DESCRIPTION = 1000;
const MAX_ERROR = 300;

export interface LookDeps {
  /** Environment of the gateway; a server gets what agents get of it. */
  hostEnv: Readonly<Record<string, string | undefined>>;
  version: string;
  fetch: typeof globalThis.fetch;
  reaper: Reaper;
  clock: Clock;
  log: Logger;
}

export type Found =
  | { ok: true; tools: { name: string; description: string }[] }
  /** `error` is a sentence without secrets. */
  | { ok: false; tools: []; error: string };

/**
 * Connects to an MCP server as an agent would, and lists its tools. The server is left again, a program ended. Never
 * rejects.
 * @param secrets values that must not come back in what the server says
 */
export async function lookAt(
  server: McpServer,
  { cwd, secrets }: { cwd: string; secrets: Iterable<string> },
  deps: LookDeps,
): Promise<Found> {
  const mask = maskOf(server, secrets);
  const line = (text: unknown, max: number) => oneLine(typeof text === "string" ? mask(text) : "", max) ?? "";
  const over = new AbortController();
  const stop = (why: string) => over.abort(new Error(why));
  const cancel = deps.clock.after(LIMIT_MS, () =>
    stop(`The connector did not answer within ${LIMIT_MS / 1000} seconds.`),
  );
  const transport = "command" in server ? overStdio(server, cwd, deps, stop) : overHttp(server, deps, stop);
  const client = new Client({ name: "agent-gateway", version: deps.version });
  const ended = new Promise<never>((_, reject) => {
    over.signal.addEventListener("abort", () => reject(over.signal.reason));
  });
  try {
    const options = { timeout: LIMIT_MS * 2, signal: over.signal };
    const connected = (async () => {
      await client.connect(transport, options);
      if (!client.getServerCapabilities()?.tools) return [];
      return (await client.listTools(undefined, options)).tools;
    })();
    const tools = await Promise.race([connected, ended]);
    return {
      ok: true,
      tools: tools.slice(0, MAX_TOOLS).map(({ name, description }) => ({
        name: line(name, MAX_NAME),
        description: line(description, MAX_DESCRIPTION),
      })),
    };
  } catch (error) {
    return { ok: false, tools: [], error: line(reasonOf(over.signal.reason ?? error), MAX_ERROR) };
  } finally {
    cancel();
    // A server that does not let go must not hold up the answer.
    void client.close().catch(() => {});
    void transport.close().catch(() => {});
  }
}

type Program = Extract<McpServer, { command: string }>;
type Address = Exclude<McpServer, Program>;

/** The program in a group of its own, a message a line. */
function overStdio(server: Program, cwd: string, deps: LookDeps, stop: (why: string) => void): Transport {
  const { reaper, log, clock } = deps;
  let child: ManagedProcess | undefined;
  let closed = false;
  const end = async () => {
    closed = true;
    await child?.close({ graceMs: 500 });
  };
  const transport: Transport = {
    async start() {
      const lines = createLineSplitter(
        (line) => {
          const message = parse(line);
          if (message) transport.onmessage?.(message);
        },
        {
          maxBytes: MAX_BYTES,
          onOverflow: () => stop(`The connector sent a message of more than ${MAX_BYTES / 1048576} MiB.`),
        },
      );
      child = await spawnProcess({
        command: [server.command, ...(server.args ?? [])],
        cwd,
        env: childEnvironment(deps.hostEnv, server.env),
        onStdout: lines.push,
        reaper,
        log,
        clock,
      });
      const started = child;
      if (closed) await end();
      void started.exited.then(({ code, signal }) => {
        const last = started.stderrTail().trim().split("\n").at(-1);
        const how = code === null ? `was ended by ${signal}` : `ended with exit code ${code}`;
        stop(`The connector's program ${how}${last ? `: ${last}` : "."}`);
        transport.onclose?.();
      });
    },
    send: async (message) => child?.write(`${JSON.stringify(message)}\n`),
    close: end,
  };
  return transport;
}

function parse(line: string): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as JSONRPCMessage) : undefined;
  } catch {
    // Programs also print what is no message.
    return undefined;
  }
}

function overHttp(server: Address, deps: LookDeps, stop: (why: string) => void): Transport {
  const bounded: FetchLike = async (url, init) => {
    const reply = await deps.fetch(url, init);
    if (!reply.body) return reply;
    let bytes = 0;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes <= MAX_BYTES) return controller.enqueue(chunk);
        const why = `The connector sent more than ${MAX_BYTES / 1048576} MiB.`;
        stop(why);
        controller.error(new Error(why));
      },
    });
    return new Response(reply.body.pipeThrough(counted), reply);
  };
  const options = { requestInit: { headers: server.headers ?? {} }, fetch: bounded };
  const url = new URL(server.url);
  return server.type === "sse"
    ? new SSEClientTransport(url, options)
    : new StreamableHTTPClientTransport(url, options);
}

/** What went wrong, as a sentence for the owner. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "The connector could not be reached.";
  const code = (error.cause as { code?: unknown } | undefined)?.code;
  if (typeof code === "string") return `The connector could not be reached (${code}).`;
  if (error.message === "fetch failed") return "The connector could not be reached.";
  const status = (error as { status?: unknown }).status ?? (error as { code?: unknown }).code;
  if (typeof status === "number" && status >= 400 && status < 600) return `The connector answered ${status}.`;
  // The sentence of `lib/process.ts`, which starts agents as a rule.
  return error.message.replace(/^The agent program /, "The connector's program ");
}
