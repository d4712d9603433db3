import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createParser } from "eventsource-parser";
import { postgresStore } from "./fixtures/postgres.ts";

export const root = fileURLToPath(new URL("..", import.meta.url));
export const bin = join(root, "packages/gateway/bin/agent-gateway.mjs");
/** `TEST_BACKEND=pty` runs the agents of every gateway in a terminal, unless its configuration says otherwise. */
export const inTerminal = process.env.TEST_BACKEND === "pty";
export const fakeTerminal = join(root, "test/fixtures/fake-terminal.mjs");
export const fakeAgent = inTerminal ? fakeTerminal : join(root, "test/fixtures/fake-agent.mjs");

/** Keys that every test gateway has, one of each kind. `plain`, `write` reach `assistant` alone, `other` reaches `second`. */
export const KEYS = {
  admin: "test-admin-key-0001",
  write: "test-write-key-0002",
  plain: "test-plain-key-0003",
  other: "test-other-key-0004",
  all: "test-all-agents-key-0005",
} as const;

type Json = Record<string, unknown>;

/** Every gateway of the tests has a schema of its own in Postgres, unless its configuration names a store. */
const onPostgres = process.env.TEST_STORE === "postgres";
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null;

export interface GatewayOptions {
  /** Merged over `gateway` of the configuration. */
  gateway?: Json;
  session?: Json;
  /** Arguments of the fake agent of `assistant` and `second`. */
  agentArgs?: string[];
  /** Merged over the entry of `assistant`. */
  agent?: Json;
  /** The whole configuration, instead of all the above. */
  config?: unknown;
  env?: Record<string, string>;
  /** A home that an earlier gateway left. */
  home?: string;
  /** Arguments of Node.js itself. */
  nodeArgs?: string[];
}

export function testConfig(options: GatewayOptions = {}): Json {
  const runtime = { type: "agent-cli", command: [process.execPath, fakeAgent, ...(options.agentArgs ?? [])] };
  return {
    configVersion: "2.0.0",
    gateway: {
      api: {
        keys: [
          { key: KEYS.admin, agents: "*", admin: true },
          { key: KEYS.write, agents: ["assistant"], write: true },
          { key: KEYS.plain, agents: ["assistant"] },
          { key: KEYS.other, agents: ["second"] },
          { key: KEYS.all, agents: "*" },
        ],
        rateLimit: false,
      },
      ...(inTerminal && { headless: false }),
      ...options.gateway,
    },
    ...(options.session && { session: options.session }),
    agents: [
      { id: "assistant", description: "first", runtime, ...options.agent },
      { id: "second", description: "second", runtime },
    ],
  };
}

/** Polls until `probe` gives something truthy. */
export async function until<T>(
  probe: () => T | Promise<T>,
  what: string,
  timeoutMs = 10_000,
): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value) return value as NonNullable<T>;
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** True while a process with this id exists. */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export interface Gateway {
  url: string;
  home: string;
  process: ChildProcess;
  output(): string;
  /** `fetch` with a key (default admin; null for none) and a JSON body. */
  request(method: string, path: string, options?: RequestOptions): Promise<Response>;
  /** The same, with the parsed body. */
  json(
    method: string,
    path: string,
    options?: RequestOptions,
  ): Promise<{ status: number; body: Json; headers: Headers }>;
  /** Sends a message and waits for the whole reply. */
  send(
    message: string,
    extra?: Json,
    options?: RequestOptions,
  ): Promise<{ status: number; body: Json; headers: Headers }>;
  /** Sends a message and reads its stream to the end. */
  stream(message: string, extra?: Json): Promise<Frame[]>;
  config(): Promise<Json>;
  writeConfig(config: unknown): Promise<void>;
  /** SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Stops the gateway and removes its home. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface RequestOptions {
  key?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  raw?: BodyInit;
}

export interface Frame {
  id: string | undefined;
  data: Json;
}

/** Reads an SSE reply with `eventsource-parser`; `[DONE]` comes as `{ type: "[DONE]" }`. */
export async function* readFrames(response: Response): AsyncGenerator<Frame> {
  const queue: Frame[] = [];
  const parser = createParser({
    onEvent: ({ id, data }) =>
      queue.push({ id, data: data === "[DONE]" ? { type: "[DONE]" } : (JSON.parse(data) as Json) }),
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    while (queue.length > 0) yield queue.shift()!;
  }
}

export async function allFrames(response: Response): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of readFrames(response)) frames.push(frame);
  return frames;
}

/** Where an earlier gateway of the same home has its rows. */
async function storeOf(configFile: string): Promise<unknown> {
  const text = await readFile(configFile, "utf8").catch(() => "{}");
  return (JSON.parse(text) as { gateway?: { store?: unknown } }).gateway?.store;
}

/** Where programs in a terminal keep their records, apart from those of the user who runs the tests. */
const terminalEnv = ({ gateway }: GatewayOptions, home: string) =>
  inTerminal || gateway?.headless === false ? { CLAUDE_CONFIG_DIR: join(home, "claude") } : {};

/** Starts the built gateway on a free port in a home of its own. */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const home = options.home ?? (await mkdtemp(join(tmpdir(), "agent-gateway-test-")));
  const configFile = join(home, "config.json");
  if (!options.home || options.config) {
    const config = (options.config ?? testConfig(options)) as Json;
    if (onPostgres && isObject(config) && isObject(config.gateway) && !config.gateway.store) {
      config.gateway = { ...config.gateway, store: (await storeOf(configFile)) ?? (await postgresStore()) };
    }
    await writeFile(configFile, JSON.stringify(config, null, 2), { mode: 0o600 });
  }
  const {
    GATEWAY_URL: _u,
    GATEWAY_API_KEY: _k,
    GATEWAY_CONFIG: _c,
    GATEWAY_STORE_URL: _s,
    PORT: _p,
    ...inherited
  } = process.env;
  const child = spawn(process.execPath, [...(options.nodeArgs ?? []), bin, "start", "--port", "0"], {
    env: { ...inherited, GATEWAY_HOME: home, ...terminalEnv(options, home), ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout!.on("data", (chunk: Buffer) => {
    output += chunk;
  });
  child.stderr!.on("data", (chunk: Buffer) => {
    output += chunk;
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  const url = await until(
    () => {
      if (ended) throw new Error(`the gateway ended at start:\n${output}`);
      return /gateway listening on (http:\/\/\S+)/.exec(output)?.[1];
    },
    `the gateway to listen; it said:\n${output}`,
    20_000,
  );

  const request: Gateway["request"] = (method, path, { key = KEYS.admin, body, headers, signal, raw } = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        ...(key !== null && { "x-api-key": key }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(raw !== undefined ? { body: raw } : body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
      redirect: "manual",
    });
  const json: Gateway["json"] = async (method, path, requestOptions) => {
    const response = await request(method, path, requestOptions);
    const text = await response.text();
    return {
      status: response.status,
      body: text === "" ? {} : (JSON.parse(text) as Json),
      headers: response.headers,
    };
  };
  const messages = "/api/v1/agents/assistant/messages";

  const gateway: Gateway = {
    url,
    home,
    process: child,
    output: () => output,
    request,
    json,
    send: (message, extra = {}, requestOptions = {}) =>
      json("POST", messages, { ...requestOptions, body: { message, chat_id: "me", ...extra } }),
    async stream(message, extra = {}) {
      const response = await request("POST", messages, {
        body: { message, chat_id: "me", stream: true, ...extra },
      });
      if (response.status !== 200)
        throw new Error(`stream answered ${response.status}: ${await response.text()}`);
      return allFrames(response);
    },
    config: async () => JSON.parse(await readFile(configFile, "utf8")) as Json,
    writeConfig: (config) => writeFile(configFile, JSON.stringify(config, null, 2)),
    async stop() {
      child.kill("SIGTERM");
      return exited;
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
    async [Symbol.asyncDispose]() {
      if (!ended) {
        child.kill("SIGTERM");
        const timer = setTimeout(() => child.kill("SIGKILL"), 8_000);
        await exited;
        clearTimeout(timer);
      }
      await rm(home, { recursive: true, force: true, maxRetries: 3 });
    },
  };
  return gateway;
}

/** Writes a file below a folder, with the folders on the way. */
export async function put(folder: string, path: string, content: string | Uint8Array): Promise<string> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
}

/** Text of a stream's deltas. */
export const textOf = (frames: Frame[]): string =>
  frames
    .filter(({ data }) => data.type === "text_delta")
    .map(({ data }) => data.text)
    .join("");
