import { once } from "node:events";
import { readFile, truncate } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, KEYS, put, startGateway, until } from "./harness.ts";

const MANY = 50;
const STALLED_MS = 1_500;
const MIB = 1024 * 1024;
/** Resident memory that the gateway may add while readers stall, and what may be left of it afterwards. */
const MOST_MB = 450;
const REST_MB = 150;
/** Connections that the other clients keep. */
const SPARE = 8;
const LOOK_MS = 50;
/** Other clients are answered within this on a loaded machine. */
const PROMPT_MS = 4_000;

let gateway: Gateway;
let requests: Record<string, string>;
/** The session in which the other clients talk. */
let session: string | undefined;
beforeAll(async () => {
  gateway = await startGateway({ gateway: { stalledReaderMs: STALLED_MS, watchdog: { exitSeconds: 0 } } });
  const lines = Array.from({ length: 1_000 }, (_, n) =>
    JSON.stringify({
      chatId: "api-me",
      sessionId: "11111111-1111-4111-8111-111111111111",
      sessionName: "long",
      role: n % 2 ? "assistant" : "user",
      content: "x".repeat(9_000),
      ts: 1_700_000_000_000 + n,
    }),
  );
  const imported = await gateway.json("POST", "/api/v1/agents/assistant/history/import", {
    raw: `${lines.join("\n")}\n`,
  });
  expect(imported.body).toMatchObject({ imported: 1_000 });
  const { body: turn } = await gateway.send(`BIG ${4 * MIB}`, { chat_id: "big" });
  const agent = join(gateway.home, "agents/assistant");
  const paths = [await put(agent, "media/2026-01/big.bin", ""), await put(agent, "workspace/big.bin", "")];
  for (const path of paths) await truncate(path, 64 * MIB);
  const { body: shared } = await gateway.json("POST", "/api/v1/shares", {
    body: { agent_id: "assistant", session_id: turn.session_id, chat_id: "big", refs: [{ path: paths[1] }] },
  });
  const [{ token }] = shared.items as [{ token: string }];
  const page = await (await gateway.request("GET", "/dashboard")).text();
  const script = /assets\/[^"]+\.js/.exec(page)![0];

  const api = "/api/v1/agents/assistant";
  const get = (path: string, key: string = KEYS.plain) => request("GET", path, key);
  const ahead = (path: string, times: number) =>
    request("GET", path, KEYS.plain, { last: false }).repeat(times - 1) + get(path);
  const body = JSON.stringify({ message: `BIG ${2 * MIB}`, chat_id: "sync", stream: false });
  requests = {
    "a page of history": get(`${api}/chats/api-me/messages?limit=1000`),
    "pages asked for ahead": ahead(`${api}/chats/api-me/messages?limit=1000`, 20),
    "a file of the agent": get(`${api}/media/2026-01/big.bin`),
    "a share": get(`/shared/${token}`),
    "an event stream": get(
      `${api}/sessions/${turn.session_id}/stream?chat_id=big&request_id=${turn.request_id}`,
    ),
    "an export": get(`${api}/history/export`, KEYS.admin),
    "the page's script, asked for 30 times": ahead(`/dashboard/${script}`, 30),
    "the page's script, asked for 500 times": ahead(`/dashboard/${script}`, 500),
    "the reply to a message": request("POST", `${api}/messages`, KEYS.plain, { body }),
  };
}, 60_000);
afterAll(() => gateway[Symbol.asyncDispose]());

function request(
  method: string,
  path: string,
  key: string,
  { last = true, body }: { last?: boolean; body?: string } = {},
): string {
  const head = [`${method} ${path} HTTP/1.1`, "Host: 127.0.0.1", `X-Api-Key: ${key}`];
  if (last) head.push("Connection: close");
  if (body !== undefined) head.push("Content-Type: application/json", `Content-Length: ${body.length}`);
  return `${head.join("\r\n")}\r\n\r\n${body ?? ""}`;
}

const rssMb = async () =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${gateway.process.pid}/status`, "utf8"))![1]) / 1024;
const connections = async () =>
  Number(
    /^agent_gateway_http_connections (\d+)$/m.exec(
      await (await gateway.request("GET", "/metrics")).text(),
    )![1],
  );
/** Connections that send this and then read nothing; resolves when they are open. */
const stalled = (text: string, count: number): Promise<Socket[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
      socket.on("error", () => {});
      socket.pause();
      await once(socket, "connect");
      socket.write(text);
      return socket;
    }),
  );

/** Other clients ask for something, an answer of another agent included. */
async function others(): Promise<void> {
  const key = KEYS.other;
  const answers = await Promise.all([
    gateway.json("GET", "/health", { key: null }),
    gateway.json("GET", "/api/v1/agents", { key }),
    gateway.json("POST", "/api/v1/agents/second/messages", {
      key,
      body: { message: "SAY here", chat_id: "other", ...(session !== undefined && { session_id: session }) },
    }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  session = answers[2].body.session_id as string;
}

/** The longest time that other clients wait, and the most memory, until the gateway has no more connections than this. */
async function watchUntil(most: number, what: string) {
  let slowest = 0;
  let peak = 0;
  for (let round = 0; round < 3 || (await connections()) > most; round++) {
    const began = performance.now();
    await others();
    slowest = Math.max(slowest, performance.now() - began);
    peak = Math.max(peak, await rssMb());
    if (round * LOOK_MS > 20 * STALLED_MS) throw new Error(`the connections for ${what} are still open`);
    await pause(LOOK_MS);
  }
  return { slowest, peak };
}

describe.runIf(process.platform === "linux")("readers that stop reading", () => {
  it(`of every kind of reply, ${MANY} of each at once, are cut off and cost the others nothing [STALL-1]`, async () => {
    await others();
    const rest = await rssMb();
    for (const [what, text] of Object.entries(requests)) {
      const open = await connections();
      const readers = await stalled(text, MANY);
      const { slowest, peak } = await watchUntil(open + SPARE, what);
      expect(slowest, what).toBeLessThan(PROMPT_MS);
      expect(peak - rest, what).toBeLessThan(MOST_MB);
      for (const reader of readers) reader.destroy();
    }
    await until(async () => (await rssMb()) < rest + REST_MB, "the memory to be given back", 20_000);
  }, 240_000);

  it("do not hold up SIGTERM [STALL-1]", async () => {
    const readers = (await Promise.all(Object.values(requests).map((text) => stalled(text, 10)))).flat();
    await others();
    const began = Date.now();
    expect(await gateway.stop()).toBe(0);
    expect(Date.now() - began).toBeLessThan(5_000);
    for (const reader of readers) reader.destroy();
  });
});
