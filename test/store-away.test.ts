import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BOT, type FakeBotchat, startFakeBotchat } from "./fixtures/fake-botchat.ts";
import { cloudDelivery, cloudText, startFakeCloudchat } from "./fixtures/fake-cloudchat.ts";
import { ownCluster, withoutPostgres } from "./fixtures/postgres.ts";
import { inPostgres } from "./fixtures/rows.ts";
import { SIGNED_CHANNELS, signedHeaders } from "./fixtures/webhook-signing.ts";
import { type Gateway, startGateway, until } from "./harness.ts";

const PASSWORD = "s3cret-of-the-store";
const SCHEMA = "agent_gateway";
const CHAT = 501;
const FROM = "491701234567";
/** Long enough that the store is gone before it ends. */
const SLOW = "SLOW 20 100";
const SLOW_REPLY = Array.from({ length: 20 }, (_, n) => `w${n} `).join("");

describe.skipIf(withoutPostgres())("a gateway whose Postgres goes away (needs Postgres)", () => {
  let cluster: Awaited<ReturnType<typeof ownCluster>>;
  let botchat: FakeBotchat;
  let cloudchat: Awaited<ReturnType<typeof startFakeCloudchat>>;
  let gateway: Gateway;
  const start = async (home?: string) => {
    gateway = await startGateway({
      gateway: {
        store: { driver: "postgres", url: `\${STORE_URL}`, schema: SCHEMA, poolSize: 5 },
      },
      env: { STORE_URL: cluster.url.replace("postgres@", `postgres:${PASSWORD}@`) },
      agent: {
        botchat: { botToken: BOT.token, apiBaseUrl: botchat.url },
        cloudchat: {
          ...SIGNED_CHANNELS.cloudchat,
          apiBaseUrl: cloudchat.url,
          dmAllowlist: [FROM],
          sendReadReceipts: false,
          reactionLevel: "off",
        },
      },
      ...(home !== undefined && { home }),
    });
  };
  beforeAll(async () => {
    [cluster, botchat, cloudchat] = await Promise.all([
      ownCluster(),
      startFakeBotchat(),
      startFakeCloudchat(),
    ]);
    await start();
    const open = { body: { dmPolicy: "open" } };
    const policy = await gateway.json("PATCH", "/api/v1/agents/assistant/botchat/policy", open);
    expect(policy.status).toBe(200);
  }, 60_000);
  afterAll(async () => {
    await gateway?.[Symbol.asyncDispose]();
    await Promise.all([botchat, cloudchat, cluster].map((one) => one?.[Symbol.asyncDispose]()));
  });

  const rows = (sql: string) => inPostgres({ url: cluster.url, schema: SCHEMA }, sql);
  const numberOf = (sql: string) => Number(rows(sql)[0]!.n);
  const running = () => numberOf("SELECT count(*) AS n FROM turns WHERE state = 'running'");
  const webhook = (payload: string) =>
    gateway.request("POST", "/webhooks/cloudchat/assistant", {
      key: null,
      raw: payload,
      headers: signedHeaders("cloudchat", payload),
    });
  const hook = (text: string) =>
    JSON.stringify(cloudDelivery(SIGNED_CHANNELS.cloudchat.phoneNumberId, [cloudText(text)]));
  const storeOf = async () => (await gateway.json("GET", "/status")).body.store;
  const ready = async () => (await gateway.json("GET", "/ready", { key: null })).status;
  const log = () => readFile(join(gateway.home, "logs/gateway.log"), "utf8");
  const back = (sessionId: string, text: string) =>
    until(
      async () => (await gateway.send(text, { session_id: sessionId })).status === 200,
      "the session to take a message",
      20_000,
    );

  it("lives on and says so; turns go on, clients get the text with stored: false, chats get theirs once it is stored; webhooks are refused, polling stops, and nothing is lost or doubled [STORE-AWAY-1, STORE-AWAY-2, AWAY-1, AWAY-2, AWAY-3]", async () => {
    expect(await ready()).toBe(200);
    expect(await storeOf()).toEqual({ driver: "postgres", ok: true, latencyMs: expect.any(Number) });
    const session = (await gateway.send("SAY hello")).body.session_id as string;
    const whole = gateway.send(SLOW, { session_id: session });
    const frames = gateway.stream(SLOW);
    botchat.message(SLOW);
    await until(() => running() === 3, "three turns to run");
    await cluster.stop();

    const reply = await whole;
    expect(reply).toMatchObject({ status: 200, body: { response: SLOW_REPLY, stored: false } });
    const result = (await frames).at(-2)!.data;
    expect(result).toMatchObject({ type: "result", text: SLOW_REPLY, stored: false });

    const began = performance.now();
    const event = hook("SAY hooked");
    botchat.message("SAY polled");
    const [refusedHook, ...refused] = await Promise.all([
      webhook(event),
      gateway.send("SAY too early", { session_id: session }),
      gateway.send("SAY too early", { chat_id: "new" }),
    ]);
    expect(refusedHook.status).toBe(503);
    for (const { status, body, headers } of refused) {
      expect([status, body.code]).toEqual([503, "UNAVAILABLE"]);
      expect(headers.get("retry-after")).toMatch(/^\d+$/);
    }
    expect(performance.now() - began).toBeLessThan(6_000);
    expect(await ready()).toBe(503);
    expect(await storeOf()).toMatchObject({ driver: "postgres", ok: false });
    expect((await gateway.json("GET", "/health", { key: null })).status).toBe(200);
    const metrics = await (await gateway.request("GET", "/metrics")).text();
    expect(metrics).toMatch(/agent_gateway_store_errors_total [1-9]/);
    expect(metrics).toContain('agent_gateway_store_seconds_count{operation="unit"}');
    expect([botchat.texts(CHAT), cloudchat.texts()]).toEqual([[], []]);
    expect(botchat.pending()).toBe(1);

    await cluster.start();
    await until(async () => (await ready()) === 200, "the gateway to be ready again", 20_000);
    await back(session, "SAY again");
    await until(() => botchat.texts(CHAT).length >= 2, "the chat's replies", 20_000);
    for (let n = 0; n < 2; n++) expect((await webhook(event)).status).toBe(200);
    await until(() => cloudchat.texts().length > 0, "the webhook's reply");
    expect(botchat.texts(CHAT)).toEqual([SLOW_REPLY.trim(), "polled"]);
    expect(cloudchat.texts()).toEqual(["hooked"]);
    await until(() => running() === 0, "every turn to be closed");
    const said = (text: string) => numberOf(`SELECT count(*) AS n FROM messages WHERE content = '${text}'`);
    expect([said(SLOW_REPLY), said("SAY too early"), said("again"), said("polled")]).toEqual([3, 0, 1, 1]);
    expect(numberOf("SELECT count(*) AS n FROM turns WHERE state <> 'done'")).toBe(0);
    expect(numberOf("SELECT count(*) AS n FROM turn_parts")).toBe(0);
    expect((await log()) + gateway.output()).not.toContain(PASSWORD);
  }, 60_000);

  it("that stands still (SIGSTOP) refuses within 5 s, and serves when it goes on [STORE-AWAY-1, STORE-AWAY-2]", async () => {
    const session = (await gateway.send("SAY before", { chat_id: "still" })).body.session_id as string;
    const event = hook("SAY still");
    cluster.pause();
    try {
      const began = performance.now();
      const answers = await Promise.all([
        gateway.send("SAY lost", { chat_id: "still", session_id: session }),
        gateway.json("GET", "/api/v1/agents/assistant/chats/api-still/messages"),
        webhook(event),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
      expect(performance.now() - began).toBeLessThan(6_000);
      expect((await gateway.json("GET", "/health", { key: null })).status).toBe(200);
      expect(await ready()).toBe(503);
    } finally {
      cluster.resume();
    }
    await until(async () => (await ready()) === 200, "the gateway to be ready again", 20_000);
    expect((await gateway.send("SAY after", { chat_id: "still", session_id: session })).status).toBe(200);
    // What the server had been sent took effect when it went on, although everybody was refused.
    const answered = () => cloudchat.texts().filter((text) => text === "still").length;
    for (let n = 0; n < 2; n++) expect((await webhook(event)).status).toBe(200);
    await until(() => answered() > 0, "the webhook's reply", 15_000);
    await until(() => running() === 0, "every turn to be closed", 15_000);
    expect(answered()).toBe(1);
    expect(numberOf("SELECT count(*) AS n FROM messages WHERE content = 'SAY still'")).toBe(1);
    expect(numberOf("SELECT count(*) AS n FROM messages WHERE content = 'lost'")).toBe(0);
  }, 60_000);

  it.skipIf(!process.env.FAULTS)(
    "loses what a stop finds unstored: the log says so, and the next start closes the turn once (needs FAULTS=1) [AWAY-4]",
    async () => {
      const session = (await gateway.send("SAY hello", { chat_id: "stopped" })).body.session_id as string;
      const whole = gateway.send(SLOW, { chat_id: "stopped", session_id: session });
      await until(() => running() === 1, "the turn to run");
      await until(() => numberOf("SELECT count(*) AS n FROM turn_parts") > 3, "some text to be stored");
      await cluster.stop();
      expect((await whole).body).toMatchObject({ response: SLOW_REPLY, stored: false });
      expect(await gateway.stop()).toBe(0);
      expect(await log()).toContain("before a reply could be stored");
      await cluster.start();
      const { home } = gateway;
      await start(home);
      expect(running()).toBe(0);
      const found = rows(
        `SELECT m.content FROM messages m JOIN sessions s ON s.id = m.session
       WHERE s.uuid = '${session}' AND m.role = 1 ORDER BY m.id`,
      ).map(({ content }) => String(content));
      expect(found).toHaveLength(2);
      expect(SLOW_REPLY.startsWith(found[1]!) && found[1] !== SLOW_REPLY).toBe(true);
      expect((await gateway.send("SAY on", { chat_id: "stopped", session_id: session })).status).toBe(200);
    },
    60_000,
  );
});
