import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { createAdapters } from "../../../packages/gateway/src/channels/adapters.ts";
import type { ChannelAdapter } from "../../../packages/gateway/src/channels/types.ts";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

it("lets no connection that never closes hold up a change of the configuration [CH-CLOSE-1]", async () => {
  const clock = manualClock();
  const settings = { enabled: true, channelAccessToken: "t", channelSecret: "s" };
  const agent = (id: string) => ({ id, workspace: "/nowhere", sigchat: settings }) as unknown as AgentConfig;
  let agents = [agent("first")];
  const adapters = createAdapters({
    positions: { get: () => undefined, save: async () => {} } as never,
    clock,
    log: silentLogger,
    agents: () => agents,
    publicUrl: () => undefined,
    tempDir: "/nowhere",
    commands: [],
    publicLink: async () => undefined,
    load: async () => async () => ({ close: () => new Promise(() => {}) }) as unknown as ChannelAdapter,
    receive: async () => {},
    onReconnect: () => {},
    onReady: () => {},
  });
  await adapters.reconfigure();
  agents = [agent("second")];
  let over = false;
  const changed = adapters.reconfigure().then(() => {
    over = true;
  });
  for (let waited = 0; waited < 30_000 && !over; waited += 1_000) {
    await setImmediate();
    clock.advance(1_000);
    await setImmediate();
  }
  expect(over).toBe(true);
  await changed;
  expect(adapters.get({ agentId: "first", channel: "sigchat", account: "" })).toBeUndefined();
  expect(adapters.get({ agentId: "second", channel: "sigchat", account: "" })).toBeDefined();
});
