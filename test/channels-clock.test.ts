import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BOT, startFakeBotchat } from "./fixtures/fake-botchat.ts";
import { type Gateway, root, startGateway, until } from "./harness.ts";

const API = "/api/v1/agents/assistant";
const DAY_MS = 86_400_000;

let telegram: Awaited<ReturnType<typeof startFakeBotchat>>;
let gateway: Gateway | undefined;
beforeEach(async () => {
  telegram = await startFakeBotchat();
});
afterEach(async () => {
  await gateway?.[Symbol.asyncDispose]();
  gateway = undefined;
  await telegram.stop();
});

async function start(jumpMs: number, botchat: object = {}) {
  gateway = await startGateway({
    agent: { botchat: { botToken: BOT.token, apiBaseUrl: telegram.url, ...botchat } },
    env: { CLOCK_JUMP_MS: String(jumpMs) },
    nodeArgs: ["--import", join(root, "test/fixtures/clock-jump.mjs")],
  });
  await gateway.json("PATCH", `${API}/botchat/policy`, { body: { dmPolicy: "open" } });
  telegram.message("SAY before");
  await until(() => telegram.texts().includes("before"), "the first answer");
}
const jump = () => gateway!.process.kill("SIGUSR2");
const limited = (seconds: number) => ({
  ok: false,
  error_code: 429,
  description: "Too Many Requests",
  parameters: { retry_after: seconds },
});

describe("the gateway's clock", () => {
  it.each([
    ["back", -DAY_MS],
    ["on", 20 * 60_000],
  ])(
    "may be set %s: what waits to be sent goes out, and what comes is answered in order [CH-CLOCK-1]",
    async (_, ms) => {
      await start(ms);
      telegram.fault("sendMessage", { kind: "status", status: 429, body: limited(1) });
      telegram.message("SAY limited");
      await until(() => telegram.callsOf("sendMessage").length === 2, "the refused attempt");
      jump();
      telegram.message("SAY after");
      await until(() => telegram.texts().includes("after"), "the last answer");
      expect(telegram.texts()).toEqual(["before", "limited", "limited", "after"]);
    },
  );

  it("may be set back while messages are joined [CH-CLOCK-1]", async () => {
    await start(-DAY_MS, { coalesceMs: 400 });
    telegram.message("SAY one");
    await until(() => telegram.confirmed() > 0 && telegram.callsOf("getUpdates").length > 3, "the poll");
    jump();
    telegram.message("SAY two", { from: 502, chat: 502 });
    await until(() => ["one", "two"].every((word) => telegram.texts().includes(word)), "both answers");
  });
});
