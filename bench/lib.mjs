// What every benchmark shares: a gateway of its own, plain drivers to compare with, and the printing of ratios.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
export const bin = join(root, "packages/gateway/bin/agent-gateway.mjs");
export const fakeAgent = join(root, "test/fixtures/fake-agent.mjs");
export const KEY = "bench-admin-key-000001";
export const AGENT_ARGS = [
  "-p",
  "--input-format",
  "stream-json",
  "--output-format",
  "stream-json",
  "--verbose",
];

const results = [];

/** Records one measure: what was seen, what it is compared with, and whether the target holds. */
export function report(name, seen, target, ok) {
  results.push({ name, seen, target, ok });
  console.log(`${ok ? "ok  " : "MISS"}  ${name}: ${seen}   (to reach: ${target})`);
}
export const reported = () => results;

export const quantile = (values, q) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];
};
export const ms = (value) => `${value.toFixed(value < 10 ? 2 : 0)} ms`;

export function makeHome(config = {}) {
  const home = mkdtempSync(join(tmpdir(), "agent-gateway-bench-"));
  const runtime = { type: "agent-cli", command: [process.execPath, fakeAgent] };
  writeFileSync(
    join(home, "config.json"),
    JSON.stringify({
      configVersion: "2.0.0",
      gateway: {
        api: { keys: [{ key: KEY, agents: "*", admin: true }], rateLimit: false },
        logs: { level: "warn" },
        ...config.gateway,
      },
      session: { maxConcurrent: 500, ...config.session },
      agents: [{ id: "assistant", runtime, ...config.agent }],
    }),
    { mode: 0o600 },
  );
  return home;
}

/** Starts the gateway in `home`; resolves when it listens. */
export async function startGateway(home, { nodeArgs = [] } = {}) {
  const began = performance.now();
  const child = spawn(process.execPath, [...nodeArgs, bin, "start", "--port", "0"], {
    env: { ...process.env, GATEWAY_HOME: home },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  const url = await new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      text += chunk;
      const match = /gateway listening on (http:\/\/\S+)/.exec(text);
      if (match) resolve(match[1]);
    });
    child.once("exit", (code) => reject(new Error(`the gateway ended with ${code}: ${text}`)));
  });
  return {
    url,
    pid: child.pid,
    readyMs: performance.now() - began,
    async stop() {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

export async function withGateway(config, use) {
  const home = makeHome(config);
  const gateway = await startGateway(home);
  try {
    return await use(gateway, home);
  } finally {
    await gateway.stop();
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Closes the kept connections of `call`. */
export const hangUp = () => kept.destroy();

const kept = new http.Agent({ keepAlive: true, maxSockets: 1000 });

/** A request over plain node:http with kept connections: the client costs as little as it can. */
export function call(url, path, { method = "GET", body, key = KEY, onChunk, agent = kept } = {}) {
  return new Promise((resolve, reject) => {
    const data =
      body === undefined
        ? undefined
        : typeof body === "string" || Buffer.isBuffer(body)
          ? body
          : JSON.stringify(body);
    const req = http.request(`${url}${path}`, {
      agent,
      method,
      headers: {
        "x-api-key": key,
        ...(data !== undefined && {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(data),
        }),
      },
    });
    req.once("error", reject);
    req.once("response", (res) => {
      const chunks = [];
      res.on("data", (chunk) => (onChunk ? onChunk(chunk) : chunks.push(chunk)));
      res.once("end", () => resolve({ status: res.statusCode, text: Buffer.concat(chunks).toString() }));
      res.once("error", reject);
    });
    req.end(data);
  });
}

/** One kept connection that sends requests of one kind and reads replies by their length: a client that costs nothing. */
export async function rawClient(url, path, key = KEY) {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname);
  socket.setNoDelay(true);
  await once(socket, "connect");
  let text = "";
  let done;
  socket.on("data", (chunk) => {
    text += chunk.latin1Slice();
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(text)[1]);
    if (text.length < end + 4 + length) return;
    const reply = { status: Number(text.slice(9, 12)), text: text.slice(end + 4, end + 4 + length) };
    text = "";
    done(reply);
  });
  const head = `POST ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: `;
  return {
    /** Text goes as it is, everything else as JSON; `headers` are lines that end in CRLF. */
    post(body, headers = "") {
      const data = typeof body === "string" ? body : JSON.stringify(body);
      return new Promise((resolve) => {
        done = resolve;
        socket.write(`${head}${Buffer.byteLength(data)}\r\n${headers}\r\n${data}`);
      });
    },
    close: () => socket.destroy(),
  };
}

/** The bare limit: the same agent program driven over its pipe, nothing in between. */
export function barePipe() {
  const child = spawn(process.execPath, [fakeAgent, ...AGENT_ARGS], { stdio: ["pipe", "pipe", "ignore"] });
  let done;
  let onLine = () => {};
  createInterface({ input: child.stdout }).on("line", (line) => {
    onLine(line);
    if (line.startsWith('{"type":"result"')) done?.(JSON.parse(line));
  });
  return {
    turn(text, each = () => {}) {
      onLine = each;
      return new Promise((resolve) => {
        done = resolve;
        const line = {
          type: "user",
          message: { role: "user", content: text },
          parent_tool_use_id: null,
          session_id: "",
        };
        child.stdin.write(`${JSON.stringify(line)}\n`);
      });
    },
    async close() {
      child.stdin.end();
      await once(child, "exit");
    },
  };
}

/** Asks `/health` every 10 ms until stopped; gives the times. */
export function watchHealth(url) {
  const times = [];
  let on = true;
  let failure;
  const loop = (async () => {
    while (on) {
      const began = performance.now();
      await call(url, "/health");
      times.push(performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })().catch((error) => {
    failure = error;
  });
  return async () => {
    on = false;
    await loop;
    if (failure) throw failure;
    return times;
  };
}

export const rssMb = async (pid) => {
  const { readFile } = await import("node:fs/promises");
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024;
};
