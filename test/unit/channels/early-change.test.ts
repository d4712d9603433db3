import { join } from "node:path";
import { expect, it } from "vitest";
import { type ChannelsDeps, createChannels } from "../../../packages/gateway/src/channels/index.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";
import { recordingLogger, tempFolder } from "../../fixtures/temp-home.ts";

it("a changed configuration begins nothing until the channels are started [CH-BETWEEN-11]", async () => {
  const folder = await tempFolder();
  const store = createStore(memoryDatabase());
  let looks = 0;
  const counting = <A extends unknown[], R>(look: (...args: A) => R) => {
    return (...args: A): R => {
      looks++;
      return look(...args);
    };
  };
  const channels = createChannels({
    store: {
      ...store,
      inbox: { ...store.inbox, waitingChats: counting(store.inbox.waitingChats) },
      outbox: { ...store.outbox, waitingChats: counting(store.outbox.waitingChats) },
    },
    feed: { event: () => store.events.add({ type: "gateway.started", data: {}, at: 0 }) },
    clock: manualClock(),
    log: recordingLogger(),
    agents: counting(() => []),
    journal: join(folder, "run", "sends"),
    tempDir: join(folder, "temp"),
    access: { onApproved: () => () => {} },
    counters: {},
    step() {},
  } as unknown as ChannelsDeps);
  await channels.reconfigure();
  expect(looks).toBe(0);
  await channels.recover();
  await channels.reconfigure();
  expect(looks).toBe(0);
  await channels.start();
  await channels.reconfigure();
  expect(looks).toBeGreaterThan(3);
  await channels.close();
});
