import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { nothingKept, openConnection } from "../../../fixtures/connection.ts";
import { until } from "../../../harness.ts";
import { adapterFor, startFake } from "./rig.ts";

const MESSAGES = 1_000;
const CHATS = 20;

it("a thousand messages through cuts, lost sessions, failing storage and restarts: none lost, each chat in order [CH-GUILDCHAT-2, CH-GUILDCHAT-4, CH-GUILDCHAT-5]", async () => {
  const fake = await startFake({ heartbeatMs: 100 });
  const { adapter } = await adapterFor(fake);
  const kept = nothingKept();
  let link = openConnection(adapter, kept);
  let storm = true;
  const supervised = (async () => {
    while (storm) {
      await link.done;
      if (storm) link = openConnection(adapter, kept);
    }
  })();
  await until(() => link.state.alive > 0, "the login");
  const say = (n: number) => fake.say({ channel: String(7_000_000_000 + (n % CHATS)), content: `m${n}` });
  for (let n = 0; n < CHATS; n++) say(n);
  await until(() => kept.inbox.size === CHATS, "a message of each chat");
  for (let n = CHATS; n < MESSAGES; n++) {
    say(n);
    if (n % 5 === 0) await pause(5);
    if (n % 97 === 50) fake.cut();
    if (n % 211 === 60) fake.send({ op: 7, d: null });
    if (n % 331 === 70) {
      fake.forgetSessions();
      fake.cut();
    }
    if (n % 173 === 9) {
      const { state } = link;
      state.failing = true;
      setTimeout(() => {
        state.failing = false;
      }, 20);
    }
    if (n % 251 === 9) void link.end();
    if (n % 119 === 3) fake.fail(/^GET .*\/messages$/, "drop");
  }
  await until(() => kept.inbox.size === MESSAGES, "all messages", 20_000);
  storm = false;
  await link.end();
  await supervised;
  const byChat = Map.groupBy(kept.inbox.values(), ({ chatId }) => chatId);
  for (const messages of byChat.values()) {
    const numbers = messages.map(({ text }) => Number(text.slice(1)));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  }
  expect(fake.state.resumed).toBeGreaterThan(5);
  expect(fake.state.logins).toBeGreaterThan(2);
}, 60_000);
