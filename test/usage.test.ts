import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rowsOf } from "./fixtures/rows.ts";
import { allFrames, type Gateway, KEYS, startGateway, testConfig, until } from "./harness.ts";

const AGENT = "/api/v1/agents/assistant";
const derived = (key: string) => createHash("sha256").update(key).digest("hex").slice(0, 12);
const today = (timeZone = "UTC") => new Intl.DateTimeFormat("en-CA", { timeZone }).format(new Date());
/** What the fake agent's first turn in a session reports, for a reply of 8 characters. */
const FIRST = { inputTokens: 1000, outputTokens: 2, cacheReadTokens: 0, cacheWriteTokens: 0 };
interface Report {
  rows: Record<string, unknown>[];
  total: { turns: number };
}
/** The sums that a gateway reports. */
const report = async (gateway: Gateway, query = "", key: string = KEYS.admin) =>
  (await gateway.json("GET", `/api/v1/usage${query}`, { key })).body as unknown as Report &
    Record<string, unknown>;

/** At the fake agent's own prices, 1 and 5 dollars per million. */
const COST = 0.00101;

describe("usage", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());
  const usage = (query = "", key: string = KEYS.admin) =>
    gateway.json("GET", `/api/v1/usage${query}`, { key });

  it("is told with replies and results, and summed up by key, agent, model and source [USE-7] [USE-11]", async () => {
    const reply = await gateway.send("SAY 12345678", { chat_id: "one" }, { key: KEYS.plain });
    expect(reply.body.usage).toEqual({ ...FIRST, cost: COST, estimated: false });
    const again = { chat_id: "one", session_id: reply.body.session_id };
    const second = await gateway.send("SAY 12345678", again, { key: KEYS.plain });
    expect(second.body.usage).toMatchObject({ inputTokens: 2000, outputTokens: 2 });
    const streamed = await gateway.request("POST", `${AGENT}/messages`, {
      key: KEYS.write,
      body: { message: "SAY 12345678", chat_id: "two", stream: true },
    });
    const frames = await allFrames(streamed);
    expect(frames.find((frame) => frame.data.type === "result")?.data.usage).toEqual(reply.body.usage);

    const body = await report(gateway, "?group=key,agent,model,source");
    expect(body).toMatchObject({ from: today(), to: today(), timezone: "UTC", currency: "USD" });
    const about = {
      agent: "assistant",
      model: "fake-model",
      source: "api",
      estimated: false,
      unpriced: false,
    };
    expect(body.rows).toHaveLength(2);
    expect(body.rows).toEqual(
      expect.arrayContaining([
        { ...about, key: derived(KEYS.write), turns: 1, ...FIRST, cost: COST },
        {
          ...about,
          key: derived(KEYS.plain),
          turns: 2,
          ...FIRST,
          inputTokens: 3000,
          outputTokens: 4,
          cost: 0.00302,
        },
      ]),
    );
    expect(body.total).toMatchObject({ turns: 3, inputTokens: 4000, outputTokens: 6, cost: 0.00403 });
  });

  it("is shown to a key as far as the key caused it itself [USE-9]", async () => {
    expect((await report(gateway, "?group=key", KEYS.plain)).rows).toMatchObject([
      { key: derived(KEYS.plain), turns: 2 },
    ]);
    expect(
      (await report(gateway, `?key=${derived(KEYS.plain)}&agent=assistant`, KEYS.plain)).total.turns,
    ).toBe(2);
    expect(await report(gateway, "", KEYS.other)).toMatchObject({ rows: [], total: { turns: 0, cost: 0 } });
    expect((await report(gateway, `?key=${derived(KEYS.plain)}`)).total.turns).toBe(2);
    for (const [query, key, status, code] of [
      [`?key=${derived(KEYS.plain)}`, KEYS.write, 403, "FORBIDDEN"],
      ["?agent=second", KEYS.plain, 403, "FORBIDDEN"],
      ["?agent=assistant", KEYS.other, 403, "FORBIDDEN"],
      ["?agent=nobody", KEYS.plain, 404, "AGENT_NOT_FOUND"],
      ["?agent=nobody", KEYS.admin, 404, "AGENT_NOT_FOUND"],
    ] as const) {
      expect(await usage(query, key), query).toMatchObject({ status, body: { code } });
    }
  });

  it("refuses days and groups that make no sense [USE-8]", async () => {
    for (const query of [
      "?from=2026-02-30",
      "?from=yesterday",
      "?to=2026-1-1",
      "?from=2026-03-02&to=2026-03-01",
      "?from=2999-01-01",
      "?from=2024-01-01&to=2025-01-01",
      "?group=day,colour",
    ]) {
      expect(await usage(query), query).toMatchObject({ status: 400, body: { code: "INVALID_REQUEST" } });
    }
    const year = await usage("?from=2025-01-01&to=2026-01-01&group=day");
    expect(year).toMatchObject({ status: 200, body: { rows: [], from: "2025-01-01", to: "2026-01-01" } });
  });

  it("is left by failed, stopped and compacting turns too [USE-5]", async () => {
    const before = (await report(gateway)).total.turns;
    const { body } = await gateway.send("ERR no", { chat_id: "ends" });
    expect(body.code).toBe("AGENT_FAILED");
    const hang = gateway.send("HANG", { chat_id: "ends", session_id: body.session_id });
    const stop = () =>
      gateway.json("POST", `${AGENT}/sessions/${body.session_id}/stop`, { body: { chat_id: "ends" } });
    await until(async () => (await stop()).body.stopped, "the turn to run");
    await hang;
    for (let n = 0; n < 6; n++) await gateway.send("SAY x", { chat_id: "ends", session_id: body.session_id });
    const compacted = await gateway.json("POST", `${AGENT}/sessions/${body.session_id}/compact`, {
      key: KEYS.write,
      body: { chat_id: "ends" },
    });
    expect(compacted.body).toMatchObject({ success: true });
    const { rows } = await report(gateway, "?group=session,key");
    const mine = rows.filter((row) => row.session === body.session_id);
    expect(mine.find(({ key }) => key === derived(KEYS.write))).toMatchObject({ turns: 1 });
    expect((await report(gateway)).total.turns).toBe(before + 9);
  });
});

it("of a turn that a crash cut off is estimated, for the key that caused it [USE-5] [USE-4]", async () => {
  const first = await startGateway();
  const sent = first.send("SLOW 500 20", { chat_id: "cut" }, { key: KEYS.plain }).catch(() => {});
  await until(() => rowsOf(first, "SELECT text FROM turn_parts").length > 3, "its text on disk");
  await first.kill();
  await sent;
  await using second = await startGateway({ home: first.home });
  const { rows } = await report(second, "?group=key");
  expect(rows).toMatchObject([{ key: derived(KEYS.plain), turns: 1, estimated: true }]);
  expect(rows[0]!.inputTokens).toBe(Math.ceil("SLOW 500 20".length / 4));
  expect(rows[0]!.outputTokens).toBeGreaterThan(0);
});

it("counts by the ids of keys, in the configured zone, currency and prices [USE-8] [USE-10] [USE-11]", async () => {
  const config = testConfig() as unknown as { gateway: { api: { keys: object[] } } };
  const keys = config.gateway.api.keys.map((key, n) => (n === 2 ? { ...key, id: "web" } : key));
  const spend = {
    currency: "EUR",
    timezone: "Pacific/Kiritimati",
    prices: { "fake-*": { input: 3, output: 0 } },
  };
  await using gateway = await startGateway({ gateway: { api: { keys, rateLimit: false }, spend } });
  const { body } = await gateway.send("SAY 12345678", {}, { key: KEYS.plain });
  expect(body.usage).toMatchObject({ cost: 0.003 });
  const shown = await report(gateway, "?group=day,key");
  const day = today("Pacific/Kiritimati");
  expect(shown).toMatchObject({ timezone: "Pacific/Kiritimati", currency: "EUR", from: day, to: day });
  expect(shown.rows).toMatchObject([{ day, key: "web", turns: 1, cost: 0.003 }]);
});

it("of the starter is nothing [USE-4]", async () => {
  await using gateway = await startGateway({ agent: { runtime: { type: "starter" } } });
  const { body } = await gateway.send("hello");
  const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  expect(body.usage).toEqual({ ...none, cost: 0, estimated: false });
  expect((await report(gateway, "?group=model")).rows).toMatchObject([
    { model: null, turns: 1, unpriced: false },
  ]);
});
