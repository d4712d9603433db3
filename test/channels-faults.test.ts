import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AllProviders, startAllProviders } from "./fixtures/all-channels.ts";
import { rowsOf } from "./fixtures/rows.ts";
import { type Gateway, startGateway, until } from "./harness.ts";

let gateway: Gateway;
let providers: AllProviders;
beforeAll(async () => {
  providers = await startAllProviders(() => gateway);
  gateway = await startGateway({ agent: providers.blocks });
  await providers.prepare();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await providers[Symbol.asyncDispose]();
});

let chats = 0;
const OUTAGE_MS = Number(process.env.OUTAGE_MS ?? 5_000);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const quiet = () =>
  until(
    () =>
      rowsOf(gateway, "SELECT 1 FROM channel_inbox WHERE settled_at IS NULL").length === 0 &&
      rowsOf(gateway, "SELECT 1 FROM channel_outbox WHERE settled_at IS NULL").length === 0,
    "everything to be settled",
    60_000,
  );
/** Says these in a new chat of every channel; resolves when the providers have told them. */
const say = async (texts: readonly string[], chat: number) => {
  await Promise.all(
    providers.drivers.map(async (driver) => {
      for (const text of texts) await driver.say(chat, `SAY ${text}-${chat}-`);
    }),
  );
};
const taken = (chat: number) =>
  Object.fromEntries(providers.drivers.map((driver) => [driver.channel, driver.taken(chat)]));
const everywhere = (texts: readonly string[], chat: number) =>
  Object.fromEntries(
    providers.drivers.map(({ channel }) => [channel, texts.map((text) => `${text}-${chat}-`)]),
  );
const answered = (texts: readonly string[], chat: number) =>
  until(
    () => providers.drivers.every((driver) => driver.taken(chat).length >= texts.length),
    `${texts.length} answers on every channel`,
    60_000,
  ).catch((error: Error) => {
    throw new Error(`${error.message}; there are ${JSON.stringify(taken(chat))}`);
  });

describe("every channel, with a provider that", () => {
  it("is down for a while: every message is answered once and in order when it is back [CH-FAULT-1]", async () => {
    const chat = ++chats;
    await say(["before"], chat);
    await answered(["before"], chat);
    await Promise.all(providers.drivers.map(({ way }) => way.down()));
    await say(["during 1", "during 2"], chat);
    await pause(OUTAGE_MS);
    const { body } = await gateway.json("GET", "/api/v1/agents/assistant/channels");
    const states = body.channels as Array<{ channel: string; connected: boolean; lastError: string | null }>;
    for (const state of states.slice(0, 3)) expect(state).toMatchObject({ connected: false });
    for (const state of states) expect(state.lastError).not.toBeNull();
    await Promise.all(providers.drivers.map(({ way }) => way.up()));
    const all = ["before", "during 1", "during 2"];
    await answered(all, chat);
    await quiet();
    expect(taken(chat)).toEqual(everywhere(all, chat));
  }, 240_000);

  it("is slow: nothing is sent twice, nothing overtakes [CH-FAULT-2]", async () => {
    const chat = ++chats;
    for (const { way } of providers.drivers) way.slow(700);
    await say(["one", "two"], chat);
    await answered(["one", "two"], chat);
    for (const { way } of providers.drivers) way.slow(0);
    await quiet();
    expect(taken(chat)).toEqual(everywhere(["one", "two"], chat));
  }, 240_000);

  it("closes the connection in the middle of its answer: that send is repeated only where it arrives once, the next one goes out [CH-FAULT-3, CH-UNSURE-2, CH-UNSURE-3]", async () => {
    const chat = ++chats;
    const repeats = providers.phone.again.length;
    // What a linked device writes is enciphered: there the connection ends behind the message.
    for (const driver of providers.drivers) {
      if (driver.channel === "devicechat") driver.fault("drop");
      else driver.way.cutAnswersTo("cut-me");
    }
    await say(["cut-me", "after"], chat);
    await answered(["cut-me", "after"], chat);
    await quiet();
    for (const { way } of providers.drivers) way.cutAnswersTo(undefined);
    expect(taken(chat)).toEqual(everywhere(["cut-me", "after"], chat));
    const unknown = rowsOf(gateway, "SELECT DISTINCT channel FROM channel_outbox WHERE state = 'unknown'");
    // The repeat on a new line is confirmed there; all the other repeats are cut, too.
    const channels = providers.drivers.map(({ channel }) => channel).filter((name) => name !== "devicechat");
    expect(unknown.map(({ channel }) => channel).toSorted()).toEqual(channels.toSorted());
    expect(providers.phone.again).toHaveLength(repeats + 1);
  }, 240_000);
});
