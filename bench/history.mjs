// Pages of history, against the same query and serialisation on plain node:http and SQLite.
import { fork } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { call, ms, quantile, report, withGateway } from "./lib.mjs";
import { importMessages } from "./messages.mjs";

const BIG = Number(process.env.BENCH_MESSAGES ?? 1_000_000);
const SMALL = BIG / 10;
const CLIENTS = 16;
const SECONDS = 5;
const START = 1_600_000_000_000;

/** The bare limit, in a process of its own. */
function servePlain(file) {
  const db = new DatabaseSync(file, { readOnly: true });
  const page = db.prepare(
    `SELECT m.id, m.role, m.content, m.ts, s.uuid FROM messages m CROSS JOIN sessions s ON s.id = m.session
     WHERE m.chat = (SELECT id FROM chats WHERE agent_id = ? AND chat_id = ?) AND m.ts < ?
     ORDER BY m.ts DESC, m.id DESC LIMIT 51`,
  );
  const server = http.createServer((req, res) => {
    const url = new URL(req.url, "http://localhost");
    const rows = page.all("assistant", url.searchParams.get("chat"), Number(url.searchParams.get("before")));
    const messages = rows.slice(0, 50).map(({ id, role, content, ts, uuid }) => ({
      role: role ? "assistant" : "user",
      content,
      ts,
      sessionId: uuid,
      id,
    }));
    const last = messages.at(-1);
    const body = JSON.stringify({
      messages,
      hasMore: rows.length > 50,
      nextCursor: last?.ts,
      nextCursorId: last?.id,
    });
    res.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    res.end(body);
  });
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
}

/** Pages a second with 16 clients, and the time of each. */
async function load(url, pathOf) {
  const times = [];
  const until = performance.now() + SECONDS * 1000;
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (let turn = 0; performance.now() < until; turn++) {
        const began = performance.now();
        const { status } = await call(url, pathOf(turn * CLIENTS + client));
        if (status !== 200) throw new Error(`a page answered ${status}`);
        times.push(performance.now() - began);
      }
    }),
  );
  return { rate: times.length / SECONDS, p50: quantile(times, 0.5) };
}

async function main() {
  await withGateway({}, async ({ url }, home) => {
    await importMessages(url, "api-small", SMALL, 1);
    await importMessages(url, "api-big", BIG, 2);
    const plain = fork(fileURLToPath(import.meta.url), ["plain", join(home, "gateway.db")]);
    const [port] = await once(plain, "message");
    const before = (turn, count) => START + ((turn * 7919 * 1000) % (count * 1000));
    const ours = (chat, count) => (turn) =>
      `/api/v1/agents/assistant/chats/${chat}/messages?limit=50&before=${before(turn, count)}`;
    const bare = (turn) => `/?chat=api-big&before=${before(turn, BIG)}`;
    // Warm both, then in alternation, so that both see the same noise.
    await load(url, ours("api-big", BIG));
    await load(`http://127.0.0.1:${port}`, bare);
    const rates = { plain: [], ours: [] };
    for (let round = 0; round < 3; round++) {
      rates.plain.push((await load(`http://127.0.0.1:${port}`, bare)).rate);
      rates.ours.push((await load(url, ours("api-big", BIG))).rate);
    }
    const big = await load(url, ours("api-big", BIG));
    const small = await load(url, ours("api-small", SMALL));
    plain.kill();
    const [own, limit] = [quantile(rates.ours, 0.5), quantile(rates.plain, 0.5)];
    report(
      `page of 50 at ${BIG} messages, ${CLIENTS} clients`,
      `${own.toFixed(0)}/s, plain ${limit.toFixed(0)}/s, ${((own / limit) * 100).toFixed(0)} %`,
      ">= 50 %",
      own >= limit / 2,
    );
    report(
      `the same at ${BIG} against ${SMALL}, p50`,
      `${ms(big.p50)}, ${ms(small.p50)}, ${(big.p50 / small.p50).toFixed(2)} x`,
      "<= 1.5 x",
      big.p50 <= small.p50 * 1.5,
    );
  });
}

if (process.argv[2] === "plain") servePlain(process.argv[3]);
else await main();
