import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startFakeBotchat } from "./fixtures/fake-botchat.ts";
import { rowsOf } from "./fixtures/rows.ts";
import { startGateway, until } from "./harness.ts";

it("messages that come while the access file is half saved wait, and are answered once and in order [CH-WAIT-5, CH-WAIT-6]", async () => {
  const bot = await startFakeBotchat();
  await using _bot = { [Symbol.asyncDispose]: () => bot[Symbol.asyncDispose]() };
  await using gateway = await startGateway({
    agent: { botchat: { botToken: bot.token, apiBaseUrl: bot.url, dmAllowlist: ["501"], pairing: false } },
  });
  const file = join(gateway.home, "agents/assistant/workspace/.botchat-state/access.json");
  const say = (text: string, from = 501) => bot.message(text, { chat: from, from });
  const state = async () => {
    const { body } = await gateway.json("GET", "/api/v1/agents/assistant/channels");
    return (body.channels as Array<{ lastError: string | null; queued: number }>)[0]!;
  };
  await gateway.json("PATCH", "/api/v1/agents/assistant/botchat/policy", { body: { requireMention: false } });
  say("SAY before");
  await until(() => bot.texts(501).length === 1, "the first answer");
  const whole = await readFile(file, "utf8");
  await writeFile(file, whole.slice(0, whole.length / 2));
  for (const text of ["SAY one", "SAY two"]) say(text);
  say("SAY not me", 666);
  await until(
    () => rowsOf(gateway, "SELECT 1 FROM channel_inbox WHERE state = 'waiting'").length === 3,
    "the waiting messages",
  );
  expect(await state()).toMatchObject({ queued: 3, lastError: expect.stringContaining("access.json") });
  expect(bot.texts(501)).toEqual(["before"]);
  await writeFile(file, whole);
  await until(() => bot.texts(501).length === 3, "the answers");
  await until(async () => (await state()).queued === 0, "the stranger's message to be judged");
  expect(bot.texts(501)).toEqual(["before", "one", "two"]);
  expect(bot.texts(666)).toEqual([]);
  expect((await state()).lastError).toBeNull();
});
