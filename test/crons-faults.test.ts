import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BOT, type FakeBotchat, startFakeBotchat } from "./fixtures/fake-botchat.ts";
import { rowsOf } from "./fixtures/rows.ts";
import { type Gateway, root, startGateway, until } from "./harness.ts";

type Json = Record<string, unknown>;
const CRONS = "/api/v1/crons";
const CHAT = 4711;
const preload = ["--import", join(root, "test/fixtures/kill-at.mjs")];

let telegram: FakeBotchat;
let gateway: Gateway;

const restart = async (killAt?: string) => {
  if (gateway.process.signalCode === null) await gateway.kill();
  gateway = await startGateway({
    home: gateway.home,
    ...(killAt !== undefined && { nodeArgs: preload, env: { KILL_AT: killAt } }),
  });
};
const made = async (body: Json): Promise<string> => {
  const reply = await gateway.json("POST", CRONS, { body: { agentId: "assistant", name: "job", ...body } });
  expect(reply).toMatchObject({ status: 201, body: { job: { name: "job" } } });
  return (reply.body.job as { id: string }).id;
};
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const runs = async (id: string) => (await gateway.json("GET", `${CRONS}/${id}/runs`)).body.runs as Json[];
const killed = () => until(() => gateway.process.signalCode !== null, "the gateway to be killed");
const over = (id: string) =>
  until(async () => {
    const all = await runs(id);
    return all.length > 0 && all.every(({ status }) => status !== "running") ? all : undefined;
  }, "the run to end");

beforeAll(async () => {
  telegram = await startFakeBotchat();
  gateway = await startGateway({
    agent: { botchat: { botToken: BOT.token, apiBaseUrl: telegram.url } },
  });
  const { status } = await gateway.json("PATCH", "/api/v1/agents/assistant/botchat/policy", {
    body: { dmPolicy: "open" },
  });
  expect(status).toBe(200);
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await telegram.stop();
});

describe("kill -9 at each step of a scheduled job", () => {
  it.each([
    ["before-tick-row", "ok"],
    ["after-tick-row", "ok"],
    ["after-user-row", "ok"],
    ["before-assistant-row", "interrupted"],
    ["after-assistant-row", "ok"],
    ["before-sending-row", "ok"],
  ])("at %s it runs once, and its reply is sent once [CRON-3, CRON-6, CRON-9]", async (step, status) => {
    await restart(step);
    const text = `news ${step}`;
    const before = telegram.texts(CHAT).length;
    const id = await made({ prompt: `SAY ${text}`, scheduleAt: inMs(1_000), botchat: String(CHAT) });
    await killed();
    await restart();
    const [run, ...others] = await over(id);
    expect(others).toEqual([]);
    expect(run).toMatchObject({ status });
    // How much of its text was on disk is a matter of milliseconds.
    expect([text, ...(status === "ok" ? [] : [""])]).toContain(run!.output);
    const done = async () => (await runs(id))[0]?.deliveries;
    await until(async () => JSON.stringify(await done()).includes('"sent"'), "the reply");
    expect(await done()).toEqual([{ channel: "botchat", chatId: String(CHAT), state: "sent" }]);
    const sent = telegram.texts(CHAT).slice(before);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toContain(status === "ok" ? text : "interrupted by a restart");
    const { body } = await gateway.json("GET", `/api/v1/agents/assistant/chats/cron-${id}/messages`);
    expect((body.messages as Json[]).filter(({ role }) => role === "user")).toHaveLength(1);
  });

  it("a command that ran is interrupted, and never begun again [CRON-6]", async () => {
    await restart();
    const id = await made({ schedule: "@yearly", command: "echo begun; sleep 30" });
    await gateway.json("POST", `${CRONS}/${id}/run?wait=false`);
    await until(() => rowsOf(gateway, "SELECT 1 FROM cron_runs WHERE state = 'running'")[0], "the command");
    await restart();
    expect(await over(id)).toMatchObject([
      { status: "interrupted", error: "The gateway stopped meanwhile." },
    ]);
    const { body } = await gateway.json("GET", `${CRONS}/${id}`);
    expect(body.job).toMatchObject({ state: { lastStatus: "error", runCount: 1, consecutiveErrors: 1 } });
  });
});

it("an answer of NO_REPLY alone goes to no chat, one that also says something does [CRON-9]", async () => {
  await restart();
  const answerTo = async (prompt: string) => {
    const id = await made({ prompt, schedule: "@yearly", botchat: String(CHAT) });
    const { body } = await gateway.json("POST", `${CRONS}/${id}/run`);
    return body.run;
  };
  const before = telegram.texts(CHAT).length;
  expect(await answerTo("SAY NO_REPLY")).toMatchObject({ status: "ok", output: "NO_REPLY", deliveries: [] });
  await answerTo("SAY no NO_REPLY");
  await until(() => telegram.texts(CHAT).length > before, "the second answer");
  expect(telegram.texts(CHAT).slice(before)).toEqual(["no NO_REPLY"]);
});

it("what was missed while the gateway was down is made up for once, or not at all [CRON-12]", async () => {
  await restart();
  const soon = inMs(2_000);
  const once = await made({ prompt: "SAY late", scheduleAt: soon });
  const never = await made({ prompt: "SAY never", scheduleAt: soon, catchUp: false });
  const often = await made({ prompt: "SAY often", schedule: "* * * * *" });
  await gateway.kill();
  const { DatabaseSync } = await import("node:sqlite");
  const db = new DatabaseSync(join(gateway.home, "gateway.db"));
  db.prepare("UPDATE crons SET next_at = ? WHERE id = ?").run(Date.now() - 3_600_000, often);
  db.close();
  await until(() => Date.now() > Date.parse(soon), "the time of the jobs");
  await restart();
  expect(await over(once)).toMatchObject([{ trigger: "catch_up", status: "ok", output: "late" }]);
  expect((await over(often)).filter(({ trigger }) => trigger === "catch_up")).toHaveLength(1);
  expect(await runs(never)).toEqual([]);
  const { body } = await gateway.json("GET", `${CRONS}/${never}`);
  expect(body.job).toMatchObject({ state: { nextRunAt: null, runCount: 0 } });
});
