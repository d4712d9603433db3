// Both stores in one run: turns against bare pipes, pages against the raw driver, search, and import. BENCH_MESSAGES
// says how many messages (a million by default), BENCH_DRIVER=SQLite|Postgres asks for one of them alone.
import { fork } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { barePipe, call, ms, quantile, rawClient, report, watchHealth, withGateway } from "./lib.mjs";
import { importMessages } from "./messages.mjs";
import { startPostgres } from "./postgres.mjs";

const COUNT = Number(process.env.BENCH_MESSAGES ?? 1_000_000);
const PATH = "/api/v1/agents/assistant/messages";
const TURNS = 1000;
const SESSIONS = 100;
const SECONDS = 6;
const CLIENTS = 16;
const ROUNDS = 15;
const START = 1_600_000_000_000;
const SCHEMA = "bench";

/** What each driver has to reach. Times are milliseconds; those of search are for a million messages. */
const TARGETS = {
  SQLite: { above: 1, turns: 0.4, page: 0.6, search: [20, 100, 20, 20, 5, 300], importSeconds: 90 },
  Postgres: { above: 4, turns: 0.15, page: 0.6, search: [30, 250, 50, 50, 10, 1500], importSeconds: 180 },
};
const QUERIES = [
  ["a rare word", "zebrafish"],
  ["a word in 10 % of the rows", "invoice"],
  ["a Thai word", "กรุงเทพ"],
  ["two CJK characters", "東京"],
  ["no hit", "nowheretobefound"],
  ["a word in 60 % of the rows", "meeting"],
];

/** Pages over the driver alone, in a process of its own. */
async function servePlain(kind, place) {
  const text = (one, two, three) =>
    `SELECT m.id, m.role, m.content, m.ts, s.uuid FROM messages m JOIN sessions s ON s.id = m.session
     WHERE m.chat = (SELECT id FROM chats WHERE agent_id = ${one} AND chat_id = ${two}) AND m.ts < ${three}
     ORDER BY m.ts DESC, m.id DESC LIMIT 51`;
  let page;
  if (kind === "SQLite") {
    const statement = new DatabaseSync(place, { readOnly: true }).prepare(text("?", "?", "?"));
    page = (...params) => statement.all(...params);
  } else {
    const pool = new pg.Pool({ connectionString: place, max: CLIENTS, options: `-c search_path=${SCHEMA}` });
    page = async (...params) =>
      (await pool.query({ name: "page", text: text("$1", "$2", "$3"), values: params })).rows;
  }
  const server = http.createServer(async (req, res) => {
    const url = new URL(req.url, "http://localhost");
    const rows = await page("assistant", "api-bench", Number(url.searchParams.get("before")));
    const messages = rows.slice(0, 50).map(({ id, role, content, ts, uuid }) => ({
      role: Number(role) ? "assistant" : "user",
      content,
      ts: Number(ts),
      sessionId: uuid,
      id: Number(id),
    }));
    const last = messages.at(-1);
    const more = { hasMore: rows.length > 50, nextCursor: last?.ts, nextCursorId: last?.id };
    const body = JSON.stringify({ messages, ...more });
    res.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    res.end(body);
  });
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
}

const say = async (url, chat) => {
  const { status, text } = await call(url, PATH, {
    method: "POST",
    body: { message: "hello there", chat_id: chat },
  });
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return JSON.parse(text).session_id;
};

async function timed(count, once) {
  const times = [];
  for (let turn = 0; turn < count; turn++) {
    const began = performance.now();
    await once();
    times.push(performance.now() - began);
  }
  return times.slice(Math.floor(count / 10));
}

/** How often each of them can be done in a second, all at once. */
async function rate(each) {
  let done = 0;
  const began = performance.now();
  const until = began + SECONDS * 1000;
  await Promise.all(
    each.map(async (once, index) => {
      for (let turn = 0; performance.now() < until; turn++) {
        await once(turn * each.length + index);
        done++;
      }
    }),
  );
  return done / ((performance.now() - began) / 1000);
}

const percent = (part, whole) => `${((part / whole) * 100).toFixed(0)} %`;

async function oneTurn(name, url) {
  const bare = barePipe();
  await bare.turn("hello there");
  const session = await say(url, "one");
  const client = await rawClient(url, PATH);
  const [plain, ours] = [[], []];
  for (let block = 0; block < 10; block++) {
    plain.push(...(await timed(TURNS / 10, () => bare.turn("hello there"))));
    const body = { message: "hello there", chat_id: "one", session_id: session };
    ours.push(...(await timed(TURNS / 10, () => client.post(body))));
  }
  client.close();
  await bare.close();
  const above = quantile(ours, 0.5) - quantile(plain, 0.5);
  const target = TARGETS[name].above;
  const seen = `${ms(quantile(ours, 0.5))}, pipe ${ms(quantile(plain, 0.5))}, ${ms(above)} above`;
  report(`${name}: warm sync turn, p50`, seen, `<= ${target} ms above the pipe`, above <= target);
}

async function manyTurns(name, url, plain) {
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, (_, index) => say(url, `c${index}`)));
  const clients = await Promise.all(sessions.map(() => rawClient(url, PATH)));
  const ours = await rate(
    clients.map((client, index) => async () => {
      const body = { message: "hello there", chat_id: `c${index}`, session_id: sessions[index] };
      const { status, text } = await client.post(body);
      if (status !== 200) throw new Error(`${status}: ${text}`);
    }),
  );
  for (const client of clients) client.close();
  const target = TARGETS[name].turns;
  const seen = `${ours.toFixed(0)} turns/s, pipes ${plain.toFixed(0)}, ${percent(ours, plain)}`;
  report(`${name}: ${SESSIONS} warm sessions`, seen, `>= ${target * 100} %`, ours >= plain * target);
}

async function pages(name, url, place) {
  const plain = fork(fileURLToPath(import.meta.url), ["plain", name, place]);
  const [port] = await once(plain, "message");
  const before = (turn) => START + ((turn * 7919 * 1000) % (COUNT * 1000));
  const load = async (base, path) => {
    // Connections kept since the load before the last one would be closed by their server just now.
    const agent = new http.Agent({ keepAlive: true });
    const found = await rate(
      Array.from({ length: CLIENTS }, () => async (turn) => {
        const { status } = await call(base, `${path}before=${before(turn)}`, { agent });
        if (status !== 200) throw new Error(`a page answered ${status}`);
      }),
    );
    agent.destroy();
    return found;
  };
  const ours = () => load(url, "/api/v1/agents/assistant/chats/api-bench/messages?limit=50&");
  const bare = () => load(`http://127.0.0.1:${port}`, "/?");
  await ours();
  await bare();
  const rates = { ours: [], bare: [] };
  for (let round = 0; round < 3; round++) {
    rates.bare.push(await bare());
    rates.ours.push(await ours());
  }
  plain.kill();
  const [own, limit] = [quantile(rates.ours, 0.5), quantile(rates.bare, 0.5)];
  const target = TARGETS[name].page;
  const seen = `${own.toFixed(0)}/s, raw driver ${limit.toFixed(0)}/s, ${percent(own, limit)}`;
  report(`${name}: page of 50, ${CLIENTS} clients`, seen, `>= ${target * 100} %`, own >= limit * target);
}

async function searches(name, url) {
  for (const [at, [what, q]] of QUERIES.entries()) {
    const path = `/api/v1/agents/assistant/chats/api-bench/messages/search?q=${encodeURIComponent(q)}`;
    let total;
    const times = await timed(ROUNDS, async () => {
      const { status, text } = await call(url, path);
      if (status !== 200) throw new Error(`${status}: ${text}`);
      ({ total } = JSON.parse(text));
    });
    const p50 = quantile(times, 0.5);
    const limit = TARGETS[name].search[at];
    report(`${name}: search for ${what} (${total} hits), p50`, ms(p50), `<= ${limit} ms`, p50 <= limit);
  }
}

async function measure(name, config, placeOf, plainRate) {
  await withGateway(config, async ({ url }, home) => {
    const stop = watchHealth(url);
    const began = performance.now();
    const { imported } = await importMessages(url, "api-bench", COUNT);
    const seconds = (performance.now() - began) / 1000;
    const limit = TARGETS[name].importSeconds;
    const ok = imported === COUNT && seconds <= limit;
    report(`${name}: import of ${imported} messages`, `${seconds.toFixed(1)} s`, `<= ${limit} s`, ok);
    await searches(name, url);
    await pages(name, url, placeOf(home));
    await oneTurn(name, url);
    await manyTurns(name, url, plainRate);
    const p99 = quantile(await stop(), 0.99);
    report(`${name}: /health during all of it, p99`, ms(p99), "<= 50 ms", p99 <= 50);
  });
}

async function main() {
  const pipes = Array.from({ length: SESSIONS }, barePipe);
  await Promise.all(pipes.map((pipe) => pipe.turn("hello there")));
  const plain = await rate(pipes.map((pipe) => () => pipe.turn("hello there")));
  await Promise.all(pipes.map((pipe) => pipe.close()));
  const { BENCH_DRIVER: only } = process.env;
  if (only !== "Postgres") await measure("SQLite", {}, (home) => join(home, "gateway.db"), plain);
  if (only === "SQLite") return;
  const postgres = await startPostgres();
  if (!postgres) return report("Postgres", "not installed", "installed", false);
  const { url } = postgres;
  try {
    const store = { driver: "postgres", url, schema: SCHEMA, ssl: "disable" };
    await measure("Postgres", { gateway: { store } }, () => url, plain);
  } finally {
    await postgres.stop();
  }
}

if (process.argv[2] === "plain") await servePlain(process.argv[3], process.argv[4]);
else await main();
