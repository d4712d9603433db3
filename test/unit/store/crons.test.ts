import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Store, StoredCron } from "../../../packages/gateway/src/store/index.ts";
import { waitsNoMore } from "../../../packages/gateway/src/store/index.ts";
import { drivers } from "./drivers.ts";

const cron = (id: string, more: Partial<StoredCron> = {}): StoredCron => ({
  id,
  agentId: "a",
  name: `job ${id}`,
  type: "agent",
  spec: "{}",
  enabled: true,
  createdBy: "key",
  createdAt: 1,
  updatedAt: 1,
  nextAt: 1_000,
  plannedAt: 1,
  lastTick: null,
  lastRunAt: null,
  lastStatus: null,
  lastError: null,
  consecutiveErrors: 0,
  runCount: 0,
  ...more,
});
const DONE = { state: "ok", durationMs: 5, output: "out", error: null } as const;
const FAILED = { state: "error", durationMs: null, output: null, error: "no" } as const;

describe.each(drivers)("scheduled jobs in $driver", ({ open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const get = async (id: string) => (await store.crons.get(id))!;
  const tick = async (id: string, nextAt: number | null, cause: "schedule" | "catch_up" = "schedule") => {
    const [run] = await store.commit(store.crons.tick(await get(id), { now: 7, nextAt, cause }));
    return run;
  };

  it("are kept as they are, and counted by agent [ROWS-1]", async () => {
    const one = cron("one");
    const [added] = await store.commit(store.crons.add(one, 2));
    expect([added, await get("one")]).toEqual([true, one]);
    await store.commit(store.crons.add(cron("two", { createdAt: 2, enabled: false, nextAt: null }), 2));
    await store.commit(store.crons.add(cron("other", { agentId: "b", createdAt: 3, nextAt: 500 }), 2));
    expect(await store.commit(store.crons.add(cron("three"), 2))).toEqual([false]);
    const ids = async (agents?: string[]) => (await store.crons.list(agents)).map(({ id }) => id);
    expect([await ids(), await ids(["a"]), await ids([])]).toEqual([
      ["one", "two", "other"],
      ["one", "two"],
      [],
    ]);
    expect(await store.crons.summary()).toEqual({ total: 3, enabled: 2, running: 0, nextRunAt: 500 });
    expect(await store.crons.summary([])).toEqual({ total: 0, enabled: 0, running: 0, nextRunAt: null });
  });

  it("fire each of their times once, together with the next [CRON-5]", async () => {
    await store.commit(store.crons.add(cron("one"), 9));
    const before = await get("one");
    const run = await tick("one", 2_000);
    expect(run).toMatchObject({ state: "waiting" });
    expect(await get("one")).toMatchObject({ nextAt: 2_000, plannedAt: 7, lastTick: 1_000 });
    // Whoever read it earlier comes too late.
    const late = store.crons.tick(before, { now: 8, nextAt: 3_000, cause: "schedule" });
    expect(await store.commit(late)).toEqual([undefined]);
    expect(await get("one")).toMatchObject({ nextAt: 2_000 });
    // Nor does a time come twice when the plan is set back.
    await store.commit(store.crons.end({ id: run!.id, job: "one", runAt: 1_000 }, DONE, 100));
    await store.commit(store.crons.replan("one", 2_000, { nextAt: 1_000, plannedAt: 9 }));
    expect(await tick("one", 2_000)).toBeUndefined();
    expect(await store.crons.runs("one", 9)).toHaveLength(1);
    expect(await get("one")).toMatchObject({ nextAt: 2_000 });
  });

  it("skip a time while a run goes on, and take no second one by hand [CRON-5]", async () => {
    await store.commit(store.crons.add(cron("one"), 9));
    const first = (await tick("one", 2_000))!;
    expect(await tick("one", 3_000)).toMatchObject({ state: "skipped" });
    expect(await get("one")).toMatchObject({ lastStatus: "skipped", nextAt: 3_000 });
    expect(await store.commit(store.crons.runNow(await get("one"), 5))).toEqual([undefined]);
    await store.commit(store.crons.end({ id: first.id, job: "one", runAt: 1_000 }, FAILED, 100));
    const [manual] = await store.commit(store.crons.runNow(await get("one"), 5));
    expect(await store.crons.run(manual!)).toMatchObject({ cause: "manual", tick: null, state: "waiting" });
  });

  it("count their runs, and keep only the newest [CRON-7]", async () => {
    await store.commit(store.crons.add(cron("one"), 9));
    for (let n = 1; n <= 4; n++) {
      const run = (await tick("one", 1_000 + n))!;
      const ended = n < 3 ? FAILED : n === 3 ? DONE : FAILED;
      await store.commit(
        store.crons.start(run.id, 50),
        store.crons.end({ ...run, job: "one", runAt: n }, ended, 2),
      );
      if (n === 2) expect(await get("one")).toMatchObject({ consecutiveErrors: 2, lastError: "no" });
      if (n === 3)
        expect(await get("one")).toMatchObject({ consecutiveErrors: 0, lastError: null, lastStatus: "ok" });
    }
    expect(await get("one")).toMatchObject({ runCount: 4, consecutiveErrors: 1, lastRunAt: 4 });
    expect((await store.crons.runs("one", 9)).map(({ tick: at }) => at)).toEqual([1_003, 1_002]);
    expect(await store.crons.runs("one", 1)).toHaveLength(1);
  });

  it("begin a turn only for a run that waits, or not at all [CRON-6]", async () => {
    await store.commit(store.crons.add(cron("one"), 9));
    const { id } = (await tick("one", 2_000))!;
    const turn = { requestId: "r", sessionId: "s", now: 3, userMessage: 4 };
    await store.commit(store.crons.startTurn(id, turn));
    expect(await store.crons.ofTurn("r")).toMatchObject({
      id,
      state: "running",
      session: "s",
      userMessage: 4,
    });
    const again = store.commit(
      store.crons.add(cron("two"), 9),
      store.crons.startTurn(id, { ...turn, requestId: "q" }),
    );
    expect(waitsNoMore(await again.catch((error: unknown) => error))).toBe(true);
    expect(await store.crons.get("two")).toBeUndefined();
    await store.commit(store.crons.putBack(id));
    expect(await store.crons.run(id)).toMatchObject({ state: "waiting", startedAt: 3, userMessage: 4 });
    expect(await store.crons.ofTurn("r")).toBeUndefined();
    await store.commit(store.crons.remove("one"));
    const gone = store.commit(store.crons.startTurn(id, turn));
    expect(waitsNoMore(await gone.catch((error: unknown) => error))).toBe(true);
  });

  it("of an agent that is removed are disabled, and their runs closed [CRON-10]", async () => {
    await store.commit(store.crons.add(cron("one"), 9), store.crons.add(cron("other", { agentId: "b" }), 9));
    const { id } = (await tick("one", 2_000))!;
    await store.commit(store.crons.disable("a", 9, "gone"));
    expect(await get("one")).toMatchObject({ enabled: false, nextAt: null });
    expect(await get("other")).toMatchObject({ enabled: true, nextAt: 1_000 });
    expect(await store.crons.run(id)).toMatchObject({ state: "interrupted", error: "gone" });
    expect(await store.crons.openRuns()).toEqual([]);
  });

  it("show what became of the messages that a run caused [CRON-9]", async () => {
    await store.commit(store.crons.add(cron("one"), 9));
    const { id } = (await tick("one", 2_000))!;
    const place = { agentId: "a", channel: "botchat", account: "" };
    const row = {
      place,
      chatId: "5",
      inbox: null,
      run: id,
      purpose: "reply",
      target: "{}",
      content: "{}",
    } as const;
    await store.commit(store.outbox.add([{ ...row, key: "k" }], 1));
    const [sent] = await store.crons.deliveries([id]);
    expect(sent).toEqual({
      run: id,
      key: "k",
      channel: "botchat",
      account: "",
      chatId: "5",
      state: "pending",
    });
    const waiting = (await store.outbox.next(place, "5"))!;
    await store.commit(store.outbox.settle(waiting.id, "failed", 2, { reason: "no" }));
    await store.commit(store.outbox.sendAgain(waiting.id, { target: "{}", now: 3 }));
    expect((await store.crons.deliveries([id])).map(({ state }) => state)).toEqual(["failed", "pending"]);
  });
});
