// Terminals: how long a key takes through socket, gateway and program and back, against the bare pseudo-terminal; and
// what 50 viewers of a busy terminal get, against a raw broadcast over `ws`, with and without one that does not read.
import { fork } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { call, KEY, ms, quantile, report, withGateway } from "./lib.mjs";

// It belongs to the gateway.
const { spawn } = createRequire(new URL("../packages/gateway/package.json", import.meta.url))(
  "@lydell/node-pty",
);
const SMALL = process.env.BENCH_SMALL === "1";
const KEYS = SMALL ? 60 : 300;
const VIEWERS = SMALL ? 10 : 50;
const MEGABYTES = SMALL ? 1 : 4;
const ROUNDS = SMALL ? 2 : 5;
const END = "FLOOD-END";
const program = fileURLToPath(new URL("./terminal-program.mjs", import.meta.url));
const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));
const rate = (bytes, time) => bytes / 1e6 / (time / 1000);
const median = (values) => quantile(values, 0.5);

/** Times of keys there and back, one at a time. */
async function echoes(type, onData) {
  const times = [];
  let seen = () => {};
  onData(() => seen());
  for (let count = 0; count < KEYS; count++) {
    const began = performance.now();
    const echoed = new Promise((resolve) => {
      seen = resolve;
    });
    type("x");
    await echoed;
    times.push(performance.now() - began);
    await wait(2);
  }
  return times.slice(KEYS / 10);
}

async function bareEcho() {
  const pty = spawn(process.execPath, [program], { cols: 200, rows: 50, encoding: null });
  await new Promise((resolve) => pty.onData(resolve));
  await wait(300);
  const times = await echoes(
    (keys) => pty.write(keys),
    (listener) => pty.onData(listener),
  );
  pty.kill();
  return times;
}

async function open(address, headers = {}) {
  const socket = new WebSocket(address, { headers, perMessageDeflate: false });
  await new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  return socket;
}

/** What all viewers got while the program flooded, as megabytes a second; each is done when it has seen the end. */
async function flood(sockets) {
  let bytes = 0;
  let done = 0;
  const began = performance.now();
  const over = Promise.all(
    sockets.map(
      (socket) =>
        new Promise((resolve) => {
          const take = (data) => {
            bytes += data.length;
            if (!data.includes(END)) return;
            done++;
            socket.off("message", take);
            resolve();
          };
          socket.on("message", take);
        }),
    ),
  );
  sockets[0].send(`F${MEGABYTES};`);
  await Promise.race([
    over,
    wait(60_000).then(() => {
      throw new Error(`only ${done} of ${sockets.length} viewers saw the end`);
    }),
  ]);
  return { rate: rate(bytes, performance.now() - began), bytes };
}

async function rawBroadcast() {
  const server = fork(fileURLToPath(new URL("./raw-broadcast.mjs", import.meta.url)), { silent: true });
  const port = await new Promise((resolve) => {
    server.stdout.on("data", (chunk) => {
      const match = /listening on (\d+)/.exec(String(chunk));
      if (match) resolve(match[1]);
    });
  });
  const sockets = await Promise.all(Array.from({ length: VIEWERS }, () => open(`ws://127.0.0.1:${port}`)));
  await wait(500);
  return { sockets, close: () => server.kill() };
}

const OTHER_KEY = "bench-second-key-00002";
const config = {
  gateway: {
    headless: false,
    api: {
      keys: [
        { key: KEY, agents: "*", admin: true },
        { key: OTHER_KEY, agents: "*", admin: true },
      ],
      rateLimit: false,
    },
  },
  agent: { runtime: { type: "agent-cli", command: [process.execPath, program] } },
};
await withGateway(config, async ({ url }) => {
  const created = await call(url, "/api/v1/agents/assistant/sessions", {
    method: "POST",
    body: { chat_id: "bench", name: "bench" },
  });
  const { sessionId } = JSON.parse(created.text);
  await call(url, "/api/v1/pty-stream-ticket", { method: "POST", body: { agentId: "assistant", sessionId } });
  const address = `${url.replace(/^http/, "ws")}/api/v1/agents/assistant/pty-stream?session=${sessionId}`;
  const view = (key = KEY) => open(address, { "x-api-key": key });

  const viewer = await view();
  await wait(500);
  const bare = await bareEcho();
  const ours = await echoes(
    (keys) => viewer.send(keys),
    (listener) => viewer.on("message", listener),
  );
  viewer.terminate();
  const above = median(ours) - median(bare);
  report(
    "a key's echo above the bare pseudo-terminal, p50",
    `${ms(above)} (through the gateway ${ms(median(ours))}, bare ${ms(median(bare))})`,
    "<= 5 ms",
    above <= 5,
  );

  const raw = await rawBroadcast();
  const sockets = await Promise.all(Array.from({ length: VIEWERS }, () => view()));
  await wait(500);
  const [plain, watched, besides] = [[], [], []];
  let got = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    const rates = [(await flood(raw.sockets)).rate];
    const alone = await flood(sockets);
    got = alone.bytes;
    const stalled = await view(OTHER_KEY);
    stalled.on("message", () => {});
    await wait(200);
    stalled.pause();
    rates.push(alone.rate, (await flood(sockets)).rate);
    stalled.terminate();
    // The first round only lets each side's code be compiled.
    if (round > 0) for (const [at, list] of [plain, watched, besides].entries()) list.push(rates[at]);
  }
  raw.close();
  const share = median(watched) / median(plain);
  report(
    `${VIEWERS} viewers of a busy terminal`,
    `${median(watched).toFixed(0)} MB/s, raw broadcast ${median(plain).toFixed(0)} MB/s, ${(share * 100).toFixed(0)} % (each got ${(got / VIEWERS / 1e6).toFixed(1)} of ${MEGABYTES} MB)`,
    ">= 60 %",
    share >= 0.6,
  );
  const kept = median(besides) / median(watched);
  report(
    "the same beside one that does not read",
    `${median(besides).toFixed(0)} MB/s, ${(kept * 100).toFixed(0)} %`,
    ">= 90 %",
    kept >= 0.9,
  );
});
process.exit(0);
