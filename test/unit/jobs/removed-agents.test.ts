import { setImmediate as tick } from "node:timers/promises";
import { expect, it } from "vitest";
import { type AppJobsDeps, createAppJobs } from "../../../packages/gateway/src/app-jobs.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";
import { recordingLogger } from "../../fixtures/temp-home.ts";

const PLACE = { agentId: "a", channel: "sigchat", account: "" };
const event = { eventId: "e", chatId: "c", messageId: "m", messageKey: "k", senderId: "s" };
const NOTHING = { housekeeping: { everyMs: 3_600_000, changes: () => [] } };

/** A store with a message that waits for agent `a`, and the scheduler of each start on it. */
async function waiting() {
  const store = createStore(memoryDatabase());
  const clock = manualClock();
  const [id] = await store.commit(
    store.inbox.add({ place: PLACE, ...event, message: "{}", state: "waiting" }, clock.now()),
  );
  const agents = new Set(["a"]);
  const start = async () => {
    const jobs = createAppJobs({
      rows: store,
      clock,
      log: recordingLogger(),
      served: () => [...agents].map((agentId) => ({ id: agentId })),
      monitoring: { jobs: { began() {}, ended() {} } },
      channels: {
        ...NOTHING,
        abandonAll: (agentId: string) => [
          store.inbox.abandon({ agentId }, clock.now(), "The agent was removed."),
        ],
      },
      crons: { ticks: { name: "crons.ticks", scope: "agent" }, abandonAll: () => [] },
      oauth: { refresh: { standing: () => [], run: async () => {} } },
      feed: NOTHING,
      shares: NOTHING,
      usage: NOTHING,
      history: { retention: { standing: () => [], run: async () => {} } },
    } as unknown as AppJobsDeps);
    await jobs.start();
    return jobs;
  };
  const settle = async () => {
    for (let rounds = 0; rounds < 50; rounds++) await tick();
  };
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  const state = async () => (await store.inbox.byId(id!))?.state;
  return { store, agents, start, pass, state };
}

it("what waits for an agent is closed though the gateway was killed while removing it [AGENT-END-2]", async () => {
  const { agents, start, pass, state, store } = await waiting();
  const killed = await start();
  await killed.removing("a");
  agents.delete("a");
  await killed.close();
  const next = await start();
  await pass(59_000);
  expect(await state()).toBe("waiting");
  await pass(2_000);
  expect(await state()).toBe("done");
  expect(await store.jobs.get({ kind: "agents.removed", key: "a" })).toBeUndefined();
  await next.close();
});

it("an agent whose entry was not removed, or is there again, keeps what waits for it [AGENT-END-2]", async () => {
  const { agents, start, pass, state, store } = await waiting();
  const jobs = await start();
  await jobs.removing("a");
  await pass(61_000);
  expect(await state()).toBe("waiting");
  expect(await store.jobs.get({ kind: "agents.removed", key: "a" })).toBeUndefined();
  // Missing from the file for a moment.
  agents.delete("a");
  await pass(600_000);
  expect(await state()).toBe("waiting");
  await jobs.close();
});
