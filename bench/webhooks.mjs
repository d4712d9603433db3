// Webhook events acknowledged per second against a bare node:http server that checks the same HMAC and writes the same
// row, and 1,000 chats with a message each drained against the core's own turn rate.
import { spawn } from "node:child_process";
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { migrate } from "../packages/gateway/src/store/sqlite/migrations.ts";
import { call, makeHome, ms, quantile, rawClient, report, rssMb, startGateway, withGateway } from "./lib.mjs";

const SECRET = "bench-signing-secret";
const PATH = "/webhooks/teamchat/assistant";
const CLIENTS = 16;
const PLACES = 4;
const BLOCKS = 6;
const BLOCK_MS = 1500;
const CHATS = 1000;
const CHATS_AT_ONCE = 200;
const WARM_UP = 100;
const ROUNDS = 4;
const AT_ONCE = 20;

/** What a plain implementer would write: verify, insert, commit, answer. */
async function bare(file) {
  const db = new DatabaseSync(file);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  migrate(db);
  const insert = db.prepare(
    `INSERT OR IGNORE INTO channel_inbox
       (agent_id, channel, account, event_id, chat_id, message_id, sender_id, message, state, received_at)
     VALUES ('assistant', 'teamchat', '', ?, ?, ?, ?, ?, 'waiting', ?)`,
  );
  const take = (headers, body) => {
    const time = headers["x-slack-request-timestamp"];
    if (Math.abs(Date.now() / 1000 - Number(time)) > 300) return 401;
    const wanted = createHmac("sha256", SECRET).update(`v0:${time}:`).update(body).digest();
    const given = Buffer.from(headers["x-slack-signature"].slice(3), "hex");
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return 401;
    const { event_id: id, event } = JSON.parse(body);
    const { channel, user, text, ts } = event;
    const message = {
      eventId: id,
      chatId: channel,
      kind: "dm",
      senderId: user,
      text,
      mentioned: true,
      messageId: ts,
      sentAt: Math.round(Number(ts) * 1000),
    };
    insert.run(id, channel, ts, user, JSON.stringify(message), Date.now());
    return 200;
  };
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      response.writeHead(take(request.headers, Buffer.concat(chunks)), {
        "content-type": "application/json",
        "content-length": 11,
      });
      response.end('{"ok":true}');
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
}

let made = 0;
function event(chat, text) {
  const n = made++;
  const time = String(Math.floor(Date.now() / 1000));
  const body = JSON.stringify({
    type: "event_callback",
    event_id: `Ev${n}`,
    team_id: "T1",
    authorizations: [{ team_id: "T1", user_id: "UBOT", is_bot: true }],
    event: {
      type: "message",
      channel: chat,
      channel_type: "im",
      user: `U${chat}`,
      text,
      ts: `${time}.${String(n).padStart(6, "0")}`,
    },
  });
  const hex = createHmac("sha256", SECRET).update(`v0:${time}:${body}`).digest("hex");
  return [body, `X-Slack-Request-Timestamp: ${time}\r\nX-Slack-Signature: v0=${hex}\r\n`];
}

async function acknowledged(clients, times) {
  const began = performance.now();
  let count = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() - began < BLOCK_MS) {
        const sent = performance.now();
        const { status } = await client.post(
          ...event(`D${made % CHATS_AT_ONCE}`, "what is the weather like in Bern today?"),
        );
        if (status !== 200) throw new Error(`an event was answered with ${status}`);
        times.push(performance.now() - sent);
        count++;
      }
    }),
  );
  return count / ((performance.now() - began) / 1000);
}

/** Messages that never end take all places of the agent, and the others wait: what is measured is the way in. */
async function compareRates() {
  const home = makeHome({
    session: { maxConcurrent: PLACES },
    agent: { teamchat: { signingSecret: SECRET, dmPolicy: "open" } },
  });
  const gateway = await startGateway(home);
  const plain = spawn(process.execPath, [fileURLToPath(import.meta.url), "bare", join(home, "bare.db")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [bareUrl] = await once(createInterface({ input: plain.stdout }), "line");
    const connect = (url) => Promise.all(Array.from({ length: CLIENTS }, () => rawClient(url, PATH)));
    const [ours, theirs] = [await connect(gateway.url), await connect(bareUrl)];
    const rates = { ours: [], theirs: [] };
    const times = { ours: [], theirs: [] };
    for (let place = 0; place < PLACES; place++) await ours[0].post(...event(`DFULL${place}`, "HANG"));
    await acknowledged(ours, []);
    await acknowledged(theirs, []);
    // In alternating blocks, so that both see the same noise of a shared machine.
    for (let block = 0; block < BLOCKS; block++) {
      rates.theirs.push(await acknowledged(theirs, times.theirs));
      rates.ours.push(await acknowledged(ours, times.ours));
    }
    for (const client of [...ours, ...theirs]) client.close();
    const [rate, limit] = [quantile(rates.ours, 0.5), quantile(rates.theirs, 0.5)];
    const p99 = (values) => ms(quantile(values, 0.99));
    report(
      `webhook events acknowledged, ${CLIENTS} clients`,
      `${rate.toFixed(0)}/s (p99 ${p99(times.ours)}), bare ${limit.toFixed(0)}/s (p99 ${p99(times.theirs)}), ratio ${(rate / limit).toFixed(2)}`,
      ">= 50 % of the bare server",
      rate >= limit / 2,
    );
  } finally {
    plain.kill();
    await gateway.stop();
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** A provider that takes every answer and remembers in which chat. */
async function startProvider() {
  const answered = new Map();
  let wake = () => {};
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end(
        `{"ok":true,"ts":"${answered.size}.1","user":{"name":"ada"},"user_id":"UBOT","bot_id":"B1"}`,
      );
      if (!request.url.endsWith("chat.postMessage")) return;
      const chat = request.headers["content-type"].includes("json")
        ? JSON.parse(body).channel
        : new URLSearchParams(body).get("channel");
      answered.set(chat, (answered.get(chat) ?? 0) + 1);
      wake();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}/api`,
    answered,
    async until(count) {
      while (answered.size < count) {
        await new Promise((resolve) => {
          wake = resolve;
        });
      }
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Turns per second of the core alone: a new chat each, as many at once as the channel may have. */
async function coreRate(url, prefix, count) {
  let next = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < count) {
        const body = { message: "hello there", chat_id: `${prefix}${next++}` };
        const { status } = await call(url, "/api/v1/agents/assistant/messages", { method: "POST", body });
        if (status !== 200) throw new Error(`a turn was answered with ${status}`);
      }
    }),
  );
  return count / ((performance.now() - began) / 1000);
}

async function drain(url, provider, prefix, count) {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => rawClient(url, PATH)));
  const wanted = provider.answered.size + count;
  const began = performance.now();
  let next = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (next < count) await client.post(...event(`${prefix}${next++}`, "hello there"));
      client.close();
    }),
  );
  await provider.until(wanted);
  return count / ((performance.now() - began) / 1000);
}

async function drainChats() {
  const provider = await startProvider();
  const teamchat = {
    signingSecret: SECRET,
    botToken: "xoxb-bench",
    dmPolicy: "open",
    apiBaseUrl: provider.url,
  };
  // Finished turns are kept for two minutes, longer than this runs: memory would grow with them.
  const gateway = { turns: { retainMs: 2000 } };
  const config = { agent: { teamchat }, gateway, session: { maxConcurrent: AT_ONCE + 5 } };
  await withGateway(config, async ({ url, pid }) => {
    await drain(url, provider, "DW", WARM_UP);
    const [core, ours, memory] = [[], [], [await rssMb(pid)]];
    for (let block = 0; block < ROUNDS; block++) {
      core.push(await coreRate(url, `core${block}-`, CHATS / ROUNDS));
      ours.push(await drain(url, provider, `D${block}X`, CHATS / ROUNDS));
      memory.push(await rssMb(pid));
    }
    const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const [rate, limit] = [mean(ours), mean(core)];
    report(
      `${CHATS} chats with a message each drained`,
      `${rate.toFixed(0)} turns/s, core ${limit.toFixed(0)} turns/s, ratio ${(rate / limit).toFixed(2)}`,
      ">= 80 % of the core's turn rate",
      rate >= limit * 0.8,
    );
    const twice = [...provider.answered.values()].filter((count) => count !== 1).length;
    report("chats answered other than once", `${twice}`, "0", twice === 0);
    const half = memory[ROUNDS / 2];
    report(
      "memory over the chats",
      memory
        .map((mb) => mb.toFixed(0))
        .join(", ")
        .concat(" MB"),
      "the second half adds <= 30 MB",
      memory.at(-1) - half <= 30,
    );
  });
  provider.close();
}

if (process.argv[2] === "bare") await bare(process.argv[3]);
else {
  await compareRates();
  await drainChats();
}
