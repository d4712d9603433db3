// Resident memory: a long answer in one line, ten of them, and after a mixed load on the core and with all channels.
import { readFile } from "node:fs/promises";
import { startAllProviders } from "../test/fixtures/all-channels.ts";
import { KEYS, startGateway as startWithChannels } from "../test/harness.ts";
import { call, KEY, makeHome, report, rssMb, startGateway } from "./lib.mjs";

const BASE = "/api/v1/agents/assistant";
const ANSWER = 8 * 1024 * 1024;
const ANSWER_MB = ANSWER / 1024 / 1024;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 40);
const WORKERS = 8;
const SETTLE_MS = 3_000;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The most that was resident since the last reset, in MB. */
async function peakMb(pid) {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+)/.exec(status)[1]) / 1024;
}

async function ask(url, path, options) {
  const { status, text } = await call(url, path, options);
  if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 200)}`);
  return text;
}

async function longAnswers() {
  const gateway = await startGateway(makeHome());
  const { url, pid, stop } = gateway;
  let session;
  const say = async (message) => {
    const body = { message, chat_id: "long", ...(session && { session_id: session }) };
    session = JSON.parse(await ask(url, `${BASE}/messages`, { method: "POST", body })).session_id;
  };
  await say("hello");
  await pause(SETTLE_MS);
  const idle = await rssMb(pid);
  await say(`BIG ${ANSWER}`);
  const first = (await peakMb(pid)) - idle;
  report(
    `an answer of ${ANSWER_MB} MB in one line`,
    `+${first.toFixed(0)} MB at the most, ${(first / ANSWER_MB).toFixed(1)} x its size`,
    "<= 12 x",
    first <= 12 * ANSWER_MB,
  );
  for (let turn = 0; turn < 9; turn++) await say(`BIG ${ANSWER}`);
  await pause(SETTLE_MS);
  const after = await rssMb(pid);
  const peak = await peakMb(pid);
  report(
    "after ten of them in a row",
    `${after.toFixed(0)} MB (idle ${idle.toFixed(0)} MB, at the most ${peak.toFixed(0)} MB)`,
    "<= 160 MB",
    after <= 160,
  );
  await stop();
}

/** What clients of all kinds do, several at once. */
async function mixedLoad(url, key) {
  await Promise.all(
    Array.from({ length: WORKERS }, async (_, worker) => {
      let session;
      for (let round = 0; round < ROUNDS; round++) {
        const chat = `mixed-${worker}`;
        const get = (path) => ask(url, path, { key });
        const send = (body) =>
          ask(url, `${BASE}/messages`, {
            method: "POST",
            key,
            body: { chat_id: chat, ...(session && { session_id: session }), ...body },
          });
        if (round % 10 === 0) session = undefined;
        session = JSON.parse(await send({ message: `hello number ${round}` })).session_id;
        await send({ message: "DELTAS 2000", stream: true });
        await send({ message: "BIG 200000" });
        await get(`${BASE}/chats/api-${chat}/messages?limit=20`);
        await get(`${BASE}/chats/api-${chat}/messages/search?q=number`);
        await get("/status");
        await get("/metrics");
        await get("/api/v1/openapi.json");
      }
    }),
  );
}

async function coreAlone() {
  const { url, pid, stop } = await startGateway(makeHome());
  await mixedLoad(url, KEY);
  await pause(SETTLE_MS);
  const mb = await rssMb(pid);
  report("mixed load on the core alone", `${mb.toFixed(0)} MB`, "<= 160 MB", mb <= 160);
  await stop();
}

async function allChannels() {
  let gateway;
  await using providers = await startAllProviders(() => gateway);
  gateway = await startWithChannels({ agent: providers.blocks, session: { maxConcurrent: 500 } });
  await providers.prepare();
  const { pid } = gateway.process;
  for (let round = 0; round < ROUNDS; round++)
    await Promise.all(providers.drivers.map((driver) => driver.say(round % 3, `SAY number ${round}`)));
  await mixedLoad(gateway.url, KEYS.admin);
  await pause(SETTLE_MS);
  const mb = await rssMb(pid);
  report("mixed load with all six channels", `${mb.toFixed(0)} MB`, "<= 220 MB", mb <= 220);
  await gateway[Symbol.asyncDispose]();
}

const parts = { longAnswers, coreAlone, allChannels };
const wanted = process.argv.slice(2);
for (const [name, run] of Object.entries(parts))
  if (wanted.length === 0 || wanted.includes(name)) await run();
process.exit(0);
