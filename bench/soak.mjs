// Mixed load for SOAK_MINUTES (default 30): memory slope after the first sixth, descriptors and children at the end.
import { readdir } from "node:fs/promises";
import { call, hangUp, KEY, makeHome, report, rssMb, startGateway } from "./lib.mjs";

const MINUTES = Number(process.env.SOAK_MINUTES ?? 30);
const WARM_MINUTES = MINUTES / 6;
const WORKERS = 6;
const BASE = "/api/v1/agents/assistant";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

const home = makeHome({ session: { idleTimeoutMinutes: 0.1, maxConcurrent: 10 } });
const { url, pid, stop } = await startGateway(home);
const post = (path, body) => call(url, path, { method: "POST", body });
const until = Date.now() + MINUTES * 60_000;
const unexpected = new Map();
let requests = 0;

const children = async () => {
  const { body } = JSON.parse(`{"body":${(await call(url, "/processes")).text}}`);
  return body.processes.length - 1;
};
const descriptors = async () => (await readdir(`/proc/${pid}/fd`)).length;

/** A client that leaves in the middle of a stream. */
async function leave(chat) {
  const abort = new AbortController();
  const response = await fetch(`${url}${BASE}/messages`, {
    method: "POST",
    headers: { "x-api-key": KEY, "content-type": "application/json" },
    body: JSON.stringify({ message: "SLOW 20 20", chat_id: chat, stream: true }),
    signal: abort.signal,
  });
  await response.body.getReader().read();
  abort.abort();
  return { status: response.status };
}

async function worker(index) {
  let session;
  for (let round = 0; Date.now() < until; round++) {
    const chat = `soak-${index}-${round % 7}`;
    const steps = [
      () => post(`${BASE}/messages`, { message: `hello number ${round}`, chat_id: chat }),
      () => post(`${BASE}/messages`, { message: "DELTAS 500", chat_id: chat, stream: true }),
      () => leave(chat),
      () => call(url, `${BASE}/chats/api-${chat}/messages?limit=50`),
      () => call(url, `${BASE}/chats/api-${chat}/messages/search?q=number`),
      () => call(url, `${BASE}/media`, { method: "POST", body: PNG }),
      () => call(url, "/status"),
      () => call(url, "/metrics"),
      () => post(`${BASE}/messages`, { message: "DIE", chat_id: chat }),
      () => call(url, "/nothing"),
    ];
    const { status, text } = await steps[round % steps.length]();
    requests++;
    if (round % steps.length === 0 && status === 200) {
      const { session_id } = JSON.parse(text);
      if (session)
        await call(url, `${BASE}/sessions/${session.id}?chat_id=${session.chat}`, { method: "DELETE" });
      session = { id: session_id, chat };
    }
    if (status >= 500 && ![8].includes(round % steps.length) && status !== 503) {
      unexpected.set(status, (unexpected.get(status) ?? 0) + 1);
    }
    await pause(20);
  }
}

const samples = [];
const sampling = (async () => {
  while (Date.now() < until) {
    samples.push({
      minute: MINUTES - (until - Date.now()) / 60_000,
      rss: await rssMb(pid),
      fds: await descriptors(),
    });
    await pause(5000);
  }
})();
await Promise.all([...Array.from({ length: WORKERS }, (_, index) => worker(index)), sampling]);

const settled = samples.filter(({ minute }) => minute >= WARM_MINUTES);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const [mx, my] = [mean(settled.map(({ minute }) => minute)), mean(settled.map(({ rss }) => rss))];
const slope =
  settled.reduce((sum, { minute, rss }) => sum + (minute - mx) * (rss - my), 0) /
  settled.reduce((sum, { minute }) => sum + (minute - mx) ** 2, 0);
const deadline = Date.now() + 60_000;
while ((await children()) > 0 && Date.now() < deadline) await pause(500);
const left = await children();
hangUp();
// The thread for long reads ends after a minute without any, and with it its files.
const allowed = samples[0].fds + 5;
const patience = Date.now() + 90_000;
while ((await descriptors()) > allowed && Date.now() < patience) await pause(500);
const fds = await descriptors();
report(
  `memory slope over ${MINUTES} minutes, ${requests} requests`,
  `${(slope * 60).toFixed(1)} MB/hour at ${my.toFixed(0)} MB (from ${samples[0].rss.toFixed(0)} MB)`,
  "<= 5 MB/hour",
  slope * 60 <= 5,
);
report(
  "left at the end",
  `${left} children, ${fds} descriptors (${samples[0].fds} at the start)`,
  "none more",
  left === 0 && fds <= allowed,
);
report("unexpected errors", JSON.stringify([...unexpected]), "none", unexpected.size === 0);
await stop();
process.exit(0);
