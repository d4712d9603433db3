import { expect, it } from "vitest";
import { createTicks } from "../../../packages/gateway/src/crons/ticks.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { type StoredCron, UnsettledError } from "../../../packages/gateway/src/store/index.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2027, 2, 10, 8, 59, 30);

/** A job at 9 each day whose runs end at once, on a clock that the test sets. */
async function daily() {
  const clock = manualClock(START);
  const store = createStore(memoryDatabase());
  const spec = { scheduleKind: "cron", schedule: "0 9 * * *", at: null, timezone: "UTC", catchUp: true };
  const job = { id: "j", agentId: "a", name: "j", type: "agent", enabled: true, createdBy: "key" } as const;
  const nextAt = Date.UTC(2027, 2, 10, 9);
  const none = { lastTick: null, lastRunAt: null, lastStatus: null, lastError: null };
  const cron: StoredCron = {
    ...job,
    ...none,
    spec: JSON.stringify(spec),
    createdAt: START,
    updatedAt: START,
    nextAt,
    plannedAt: START,
    consecutiveErrors: 0,
    runCount: 0,
  };
  await store.commit(store.crons.add(cron, 9));
  const fired: number[] = [];
  /** The store is lost while it stores something, and is back when this resolves. */
  let lost: Promise<boolean> | undefined;
  const forAgent: typeof store.forAgent = (agentId) => {
    const units = store.forAgent(agentId);
    return {
      ...units,
      async commit(...changes) {
        const answers = await units.commit(...changes);
        if (lost) throw new UnsettledError({}, lost);
        return answers;
      },
    };
  };
  const tick = createTicks(
    { store: { ...store, forAgent }, clock, log: silentLogger, step() {} },
    () => START,
    ({ id }) => fired.push(id),
  );
  return {
    clock,
    fired,
    tick,
    lose: (until: Promise<boolean> | undefined) => {
      lost = until;
    },
    /** Looks as the scheduler would; resolves to the days of the month on which it has fired so far. */
    async look(): Promise<number[]> {
      await tick("a");
      for (const id of fired) {
        await store.commit(
          store.crons.end(
            { id, job: "j", runAt: 0 },
            { state: "ok", durationMs: 0, output: "", error: null },
            100,
          ),
        );
      }
      const runs = (await store.crons.runs("j", 100)).reverse();
      return runs.map((run) => new Date(run.tick!).getUTCDate());
    },
    next: async () => new Date((await store.crons.get("j"))!.nextAt!).toISOString(),
  };
}

it("a clock that is set forward over many times fires once, and goes on from there [CRON-13]", async () => {
  const rig = await daily();
  rig.clock.jump(5 * DAY);
  expect(await rig.look()).toEqual([10]);
  expect(await rig.look()).toEqual([10]);
  expect(await rig.next()).toBe("2027-03-15T09:00:00.000Z");
});

it("a clock that is set back a little repeats nothing [CRON-13]", async () => {
  const rig = await daily();
  rig.clock.advance(60_000);
  expect(await rig.look()).toEqual([10]);
  rig.clock.jump(-2 * HOUR);
  expect(await rig.look()).toEqual([10]);
  expect(await rig.next()).toBe("2027-03-11T09:00:00.000Z");
  rig.clock.advance(3 * HOUR);
  expect(await rig.look()).toEqual([10]);
  rig.clock.advance(DAY);
  expect(await rig.look()).toEqual([10, 11]);
});

it("a clock that was wrong by years and is set right leaves no job waiting for years [CRON-13]", async () => {
  const rig = await daily();
  rig.clock.jump(4 * 365 * DAY);
  expect(await rig.look()).toEqual([10]);
  rig.clock.jump(-4 * 365 * DAY);
  await rig.look();
  // What has fired is not fired again, and the next is tomorrow's.
  rig.clock.advance(60_000);
  expect(await rig.look()).toEqual([10]);
  expect(await rig.next()).toBe("2027-03-11T09:00:00.000Z");
});

it("a run that was stored although the store was lost begins when it is back [CRON-6]", async () => {
  const rig = await daily();
  rig.clock.advance(60_000);
  const back = Promise.withResolvers<boolean>();
  rig.lose(back.promise);
  await expect(rig.tick("a")).rejects.toThrow(UnsettledError);
  rig.lose(undefined);
  await rig.tick("a");
  expect(rig.fired).toEqual([]);
  back.resolve(true);
  await expect.poll(() => rig.fired.length).toBe(1);
});
