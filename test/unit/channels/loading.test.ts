import { join } from "node:path";
import { expect, it } from "vitest";
import {
  type Access,
  type ChannelPlace,
  type ChannelsDeps,
  createChannels,
} from "../../../packages/gateway/src/channels/index.ts";
import type { Store } from "../../../packages/gateway/src/store/index.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { committing, createStore, memoryDatabase } from "../../fixtures/memory-db.ts";
import { recordingLogger, tempFolder } from "../../fixtures/temp-home.ts";

const PLACE: ChannelPlace = { agentId: "a", channel: "sigchat", account: "" };
const BARE = { id: "a", workspace: "/nowhere" };
const WITH_CHANNEL = {
  ...BARE,
  sigchat: { enabled: true, channelAccessToken: "token", channelSecret: "secret" },
};

async function openChannels(agent: object = BARE) {
  const folder = await tempFolder();
  const store = createStore(memoryDatabase());
  const log = recordingLogger();
  const seen = { loads: 0, looks: 0, commits: 0 };
  const counting = <A extends unknown[], R>(what: keyof typeof seen, call: (...args: A) => R) => {
    return (...args: A): R => {
      seen[what]++;
      return call(...args);
    };
  };
  const rules = {
    onApproved: () => () => {},
    handshakes: async () => [],
    decide: async () => "allow",
  } as unknown as Access;
  /** What the deps say; a test changes it as it goes. */
  const now = { agent, rules: (): Promise<Access> => Promise.resolve(rules) };
  const commit = counting("commits", store.commit as (...args: unknown[]) => unknown);
  const channels = createChannels({
    store: {
      ...store,
      ...committing(commit as Store["commit"]),
      inbox: { ...store.inbox, waitingChats: counting("looks", store.inbox.waitingChats) },
      outbox: { ...store.outbox, waitingChats: counting("looks", store.outbox.waitingChats) },
    },
    feed: { event: () => store.events.add({ type: "gateway.started", data: {}, at: 0 }) },
    clock: manualClock(),
    log,
    agents: () => [now.agent],
    serves: () => true,
    connects: () => true,
    publicUrl: () => undefined,
    publicLink: async () => undefined,
    commands: [],
    ownCommands: async () => [],
    journal: join(folder, "run", "sends"),
    tempDir: join(folder, "temp"),
    access: counting("loads", () => now.rules()),
    counters: { reconnected() {}, received() {}, denied() {}, delivered() {} },
    onConnected() {},
    takeSpace() {},
    step() {},
  } as unknown as ChannelsDeps);
  return { channels, store, log, seen, now, rules };
}

/** Everything up to the moment when the gateway serves. */
async function start(channels: ReturnType<typeof createChannels>) {
  await channels.recover();
  channels.recovered();
  await channels.start();
}

it("loads and writes nothing for channels that nobody has [BARE-1]", async () => {
  const { channels, store, seen } = await openChannels();
  await start(channels);
  await channels.reconfigure();
  channels.lookAgain();
  expect(await channels.reports()).toEqual([]);
  expect(await channels.cutOff({ requestId: "r", text: "", produced: false })).toEqual([]);
  expect(channels.adapter(PLACE)).toBeUndefined();
  expect(seen).toEqual({ loads: 0, looks: 0, commits: 0 });
  await store.commit(...channels.housekeeping.changes());
  await channels.removeAgent("a");
  channels.stopIntake();
  await channels.close();
  expect(seen).toMatchObject({ loads: 0, looks: 0 });
});

it("decides about what a crash left behind, though the channel is off by now [BARE-2]", async () => {
  const { channels, store, seen } = await openChannels();
  const row = { place: PLACE, chatId: "c", inbox: null, key: "k", target: '{"chatId":"c"}', content: "{}" };
  const [sent] = await store.commit(store.outbox.addSending({ ...row, purpose: "direct" }, 10));
  await start(channels);
  expect(seen.loads).toBe(1);
  expect(await store.outbox.byId("a", sent.id)).toMatchObject({ state: "unknown" });
  await channels.close();
});

it("puts a message back whose turn a crash cut off, though the channel is off by now [BARE-2]", async () => {
  const { channels, store } = await openChannels();
  const message = JSON.stringify({ text: "hi" });
  const event = { eventId: "e", chatId: "c", messageId: "m", messageKey: "k", senderId: "s" };
  const [id] = await store.commit(store.inbox.add({ place: PLACE, ...event, message, state: "waiting" }, 10));
  const turn = { requestId: "r", sessionId: "s", now: 20, userMessage: undefined };
  await store.commit(store.inbox.startTurn([id!], turn));
  const changes = await channels.cutOff({ requestId: "r", text: "", produced: false });
  expect(changes).toHaveLength(1);
  await store.commit(...changes);
  expect(await store.inbox.byId(id!)).toMatchObject({ state: "waiting" });
  await channels.close();
});

it("connects a channel that is switched on while the gateway runs [BARE-3]", async () => {
  const { channels, now, seen } = await openChannels();
  await start(channels);
  expect(seen.loads).toBe(0);
  now.agent = WITH_CHANNEL;
  await channels.reconfigure();
  expect(channels.adapter(PLACE)).toBeDefined();
  now.agent = BARE;
  await channels.reconfigure();
  expect(channels.adapter(PLACE)).toBeUndefined();
  expect(seen.loads).toBe(1);
  await channels.close();
});

it("a stop while the channels are being loaded leaves nothing connected [BARE-4]", async () => {
  const { channels, store, now, rules, seen } = await openChannels();
  const loaded = Promise.withResolvers<Access>();
  await start(channels);
  now.rules = () => loaded.promise;
  now.agent = WITH_CHANNEL;
  const changing = channels.reconfigure();
  const message = { eventId: "e", chatId: "c", senderId: "s", text: "hi", kind: "dm" };
  const received = channels.receive(PLACE, [message as never]);
  channels.stopIntake();
  const closing = channels.close();
  loaded.resolve(rules);
  await Promise.all([changing, closing, received]);
  expect(seen.loads).toBe(1);
  expect(channels.adapter(PLACE)).toBeUndefined();
  // The next start takes it up.
  expect(await store.inbox.waitingChats()).toMatchObject([{ chat_id: "c" }]);
});

it("tells that the channels cannot be loaded, and tries again [BARE-5]", async () => {
  const { channels, now, rules, log } = await openChannels();
  await start(channels);
  now.agent = WITH_CHANNEL;
  now.rules = () => Promise.reject(new Error("no such file"));
  await channels.reconfigure();
  expect(log.text()).toContain("could not load the channels");
  now.rules = () => Promise.resolve(rules);
  await channels.reconfigure();
  expect(channels.adapter(PLACE)).toBeDefined();
  await channels.close();
});

it("a changed configuration begins nothing until the channels are started [CH-BETWEEN-11]", async () => {
  const { channels, seen } = await openChannels(WITH_CHANNEL);
  await channels.reconfigure();
  await channels.recover();
  await channels.reconfigure();
  expect(seen.looks).toBe(0);
  expect(channels.adapter(PLACE)).toBeUndefined();
  await channels.start();
  await channels.reconfigure();
  expect(channels.adapter(PLACE)).toBeDefined();
  expect(seen.looks).toBeGreaterThan(3);
  await channels.close();
});
