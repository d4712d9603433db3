import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { type AdaptersDeps, createAdapters } from "../../../packages/gateway/src/channels/adapters.ts";
import type { ChannelAdapter } from "../../../packages/gateway/src/channels/types.ts";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";

const settings = { enabled: true, channelAccessToken: "t", channelSecret: "s" };
const agentOf = (id: string) => ({ id, workspace: "/nowhere", sigchat: settings }) as unknown as AgentConfig;

function rig(deps: Pick<AdaptersDeps, "load"> & Partial<AdaptersDeps>) {
  const clock = manualClock();
  const adapters = createAdapters({
    store: createStore(memoryDatabase()),
    clock,
    log: silentLogger,
    agents: () => [agentOf("first")],
    publicUrl: () => undefined,
    tempDir: "/nowhere",
    commands: [],
    ownCommands: async () => [],
    publicLink: async () => undefined,
    receive: async () => {},
    onReconnect: () => {},
    onConnected: () => {},
    onReady: () => {},
    ...deps,
  });
  /** Lets time pass until the condition holds, and says how much. */
  const pass = async (most: number, until: () => boolean) => {
    for (let waited = 0; ; waited += 1_000) {
      for (let turn = 0; turn < 5; turn++) await setImmediate();
      if (until() || waited >= most) return waited;
      clock.advance(1_000);
    }
  };
  return { clock, adapters, pass };
}
const FIRST = { agentId: "first", channel: "sigchat", account: "" } as const;
const plain = { close: async () => {} } as unknown as ChannelAdapter;

it("creates an adapter again by itself after a failure, with growing pauses and the error on view [CH-START-1]", async () => {
  let tries = 0;
  let ready = 0;
  const { adapters, pass } = rig({
    load: async () => async () => {
      if (++tries <= 3) throw new Error("the provider cannot be reached");
      return plain;
    },
    onReady: () => void ready++,
  });
  await adapters.reconfigure();
  expect(tries).toBe(1);
  const pauses = [];
  for (const next of [2, 3, 4]) {
    expect(adapters.get(FIRST)).toBeUndefined();
    expect(adapters.state(FIRST)?.lastError).toMatch(/^Could not start the channel/);
    pauses.push(await pass(60_000, () => tries === next));
  }
  expect(tries).toBe(4);
  expect(pauses[2]).toBeGreaterThan(pauses[0]!);
  expect(adapters.get(FIRST)).toBe(plain);
  expect(adapters.state(FIRST)?.lastError).toBeNull();
  expect(ready).toBe(1);
});

it("tries no more once the channel is off, and at once when somebody asks for the adapter [CH-START-1]", async () => {
  let tries = 0;
  let agents = [agentOf("first")];
  const { clock, adapters, pass } = rig({
    agents: () => agents,
    load: async () => {
      tries++;
      throw new Error("the library is broken");
    },
  });
  await adapters.reconfigure();
  expect(await adapters.require(agents[0]!, FIRST)).toBeUndefined();
  expect(tries).toBe(2);
  expect(clock.timers()).toBe(1);
  agents = [];
  await adapters.reconfigure();
  await pass(300_000, () => false);
  expect(tries).toBe(2);
  expect(clock.timers()).toBe(0);
});

it("lets no connection that never closes hold up a change of the configuration [CH-CLOSE-1]", async () => {
  let agents = [agentOf("first")];
  const { adapters, pass } = rig({
    agents: () => agents,
    load: async () => async () => ({ close: () => new Promise(() => {}) }) as unknown as ChannelAdapter,
  });
  await adapters.reconfigure();
  agents = [agentOf("second")];
  let over = false;
  const changed = adapters.reconfigure().then(() => {
    over = true;
  });
  await pass(30_000, () => over);
  expect(over).toBe(true);
  await changed;
  expect(adapters.get(FIRST)).toBeUndefined();
  expect(adapters.get({ ...FIRST, agentId: "second" })).toBeDefined();
});
