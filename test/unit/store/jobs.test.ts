import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isTakenAway, type Store, type StoredJob } from "../../../packages/gateway/src/store/index.ts";
import { drivers } from "./drivers.ts";

const job = (key: string, nextAt: number, more: Partial<StoredJob & { now: number }> = {}) => ({
  kind: "sweep",
  key,
  owner: "",
  payload: null,
  now: 1000,
  nextAt,
  ...more,
});
const by = (now: number) => ({ holder: "me", leaseMs: 60_000, now });
const place = { agentId: "a", channel: "botchat", account: "" };

describe.each(drivers)("jobs in $driver", ({ open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const keys = async (kinds = ["sweep"], owners = [""], limit = 10) =>
    (await store.jobs.waiting(kinds, owners, limit)).map(({ key }) => key);
  /** Adds a job that is due, and claims it. */
  const claimed = async (key: string): Promise<StoredJob> => {
    await store.commit(store.jobs.add(job(key, 1000)));
    const [waiting] = await store.jobs.waiting(["sweep"], [""], 1);
    expect(await store.commit(store.jobs.claim(waiting!, by(1000)))).toEqual([true]);
    return (await store.jobs.get({ kind: "sweep", key }))!;
  };

  it("wait in the order of their times, each once by kind and key [JOBS-1]", async () => {
    const added = await store.commit(
      store.jobs.add(job("late", 3000)),
      store.jobs.add(job("early", 2000, { payload: '{"a":1}' })),
      store.jobs.add(job("early", 9000)),
      store.jobs.add(job("early", 2500, { kind: "other" })),
      store.jobs.add(job("of a", 1, { owner: "a" })),
    );
    expect(added).toEqual([true, true, false, true, true]);
    expect(await keys()).toEqual(["early", "late"]);
    expect(await keys(["sweep"], ["", "a"], 2)).toEqual(["of a", "early"]);
    expect(await keys(["sweep", "other"], [""])).toEqual(["early", "early", "late"]);
    expect(await keys([])).toEqual([]);
    expect(await store.jobs.get({ kind: "sweep", key: "early" })).toMatchObject({
      state: "waiting",
      attempts: 0,
      plannedAt: 1000,
      nextAt: 2000,
      holder: null,
      leaseMs: null,
      payload: '{"a":1}',
      note: null,
    });
    expect((await store.jobs.ofKinds(["sweep"])).map(({ key }) => key)).toEqual(["early", "late", "of a"]);
  });

  it("are claimed once, when they are due, and only as they were read [JOBS-1]", async () => {
    await store.commit(store.jobs.add(job("one", 2000)));
    const [read] = await store.jobs.waiting(["sweep"], [""], 1);
    expect(await store.commit(store.jobs.claim(read!, by(1999)))).toEqual([false]);
    const claims = [store.jobs.claim(read!, by(2000)), store.jobs.claim(read!, by(2000))] as const;
    expect(await store.commit(...claims)).toEqual([true, false]);
    const running = (await store.jobs.get(read!))!;
    expect(running).toMatchObject({ state: "running", attempts: 1, holder: "me", leaseMs: 60_000 });
    expect(running.fence).toBe(read!.fence + 1);
    expect(await keys()).toEqual([]);
    await store.commit(
      store.jobs.end(running, running.fence, {
        state: "waiting",
        now: 2000,
        nextAt: 2000,
        attempts: 1,
        note: "no",
      }),
    );
    expect(await store.commit(store.jobs.claim(read!, by(3000)))).toEqual([false]);
    const [next] = await store.jobs.waiting(["sweep"], [""], 1);
    expect(next).toMatchObject({ attempts: 1, note: "no", holder: null, fence: running.fence });
    expect(await store.commit(store.jobs.claim(next!, by(3000)))).toEqual([true]);
  });

  it("end in the unit that holds their effect, or the unit fails as a whole [JOBS-2]", async () => {
    const one = await claimed("one");
    await store.commit(
      store.positions.save(place, "1"),
      store.jobs.end(one, one.fence, { state: "done" }),
      store.jobs.add(job("two", 5000)),
    );
    expect(await store.positions.get(place)).toBe("1");
    expect(await store.jobs.get(one)).toBeUndefined();
    const endings = [
      { state: "done" },
      { state: "waiting", now: 1, nextAt: 1, attempts: 0, note: null },
      { state: "interrupted", now: 1, note: null },
    ] as const;
    for (const ending of endings) {
      const late = store.commit(store.positions.save(place, "2"), store.jobs.end(one, one.fence, ending));
      expect(isTakenAway(await late.catch((error: unknown) => error))).toBe(true);
    }
    expect(await store.positions.get(place)).toBe("1");
    expect(isTakenAway(new Error("another"))).toBe(false);
  });

  it("cannot be ended by a run whose claim went to another, not even of a job added anew [JOBS-2]", async () => {
    const first = await claimed("one");
    const waits = { state: "waiting", now: 1000, nextAt: 1000, attempts: 1, note: null } as const;
    await store.commit(store.jobs.end(first, first.fence, waits));
    const [again] = await store.jobs.waiting(["sweep"], [""], 1);
    await store.commit(store.jobs.claim(again!, by(1000)));
    await expect(store.commit(store.jobs.end(first, first.fence, { state: "done" }))).rejects.toThrow();
    await store.commit(store.jobs.remove(first));
    await expect(store.commit(store.jobs.end(first, again!.fence + 1, waits))).rejects.toThrow();
    await store.commit(store.jobs.add(job("one", 1000, { now: 5000 })));
    const [anew] = await store.jobs.waiting(["sweep"], [""], 1);
    await store.commit(store.jobs.claim(anew!, by(5000)));
    await expect(store.commit(store.jobs.end(first, first.fence, { state: "done" }))).rejects.toThrow();
    expect(await store.jobs.get(first)).toMatchObject({ state: "running" });
  });

  it("wait again with the time and the attempts that their run decided, or are closed at its end [JOBS-1, JOBS-3]", async () => {
    const one = await claimed("one");
    const waits = { state: "waiting", now: 2000, nextAt: 7000, attempts: 0, note: null } as const;
    await store.commit(store.jobs.end(one, one.fence, waits));
    expect(await store.jobs.get(one)).toMatchObject({ plannedAt: 2000, nextAt: 7000, attempts: 0 });
    const two = await claimed("two");
    await store.commit(store.jobs.end(two, two.fence, { state: "interrupted", now: 4000, note: null }));
    expect(await store.jobs.get(two)).toMatchObject({ plannedAt: 4000, nextAt: 4000, attempts: 1 });
  });

  it("of nobody, or of no kind, are none [JOBS-1]", async () => {
    await store.commit(store.jobs.add(job("one", 1)));
    expect([await keys(["sweep"], []), await keys([], [""]), await keys([], [])]).toEqual([[], [], []]);
  });

  it("are planned anew only while they wait [JOBS-1]", async () => {
    const running = await claimed("one");
    await store.commit(store.jobs.add(job("two", 2000)));
    const plan = { now: 1500, nextAt: 7000, payload: "2" };
    const two = { kind: "sweep", key: "two" };
    expect(await store.commit(store.jobs.replan(running, plan), store.jobs.replan(two, plan))).toEqual([
      false,
      true,
    ]);
    expect(await store.jobs.get(two)).toMatchObject({ plannedAt: 1500, nextAt: 7000, payload: "2" });
    expect((await store.jobs.plannedAfter(1499, ["sweep"], [""])).map(({ key }) => key)).toEqual(["two"]);
    expect(await store.jobs.plannedAfter(1500, ["sweep"], [""])).toEqual([]);
  });

  it("show which of them other processes hold [JOBS-8]", async () => {
    const running = await claimed("one");
    expect(await store.jobs.heldByOthers("me", ["sweep"], [""])).toEqual([]);
    expect(await store.jobs.heldByOthers("you", ["sweep"], [""])).toEqual([running]);
    expect(await store.jobs.heldByOthers("you", ["sweep"], ["a"])).toEqual([]);
    expect(await store.jobs.heldByOthers("you", ["other"], [""])).toEqual([]);
  });

  it("stay when they are closed, until they are forgotten [JOBS-3]", async () => {
    const one = await claimed("one");
    await store.commit(
      store.jobs.end(one, one.fence, { state: "failed", now: 4000, note: "why" }),
      store.jobs.add(job("two", 1)),
    );
    expect(await store.jobs.get(one)).toMatchObject({ state: "failed", note: "why", attempts: 1 });
    expect(await keys()).toEqual(["two"]);
    await store.commit(store.jobs.forget(4000));
    expect(await store.jobs.get(one)).toBeDefined();
    await store.commit(store.jobs.forget(4001));
    expect(await store.jobs.get(one)).toBeUndefined();
    expect(await keys()).toEqual(["two"]);
  });

  it("go with their agent [JOBS-8]", async () => {
    await store.commit(store.jobs.add(job("of a", 1, { owner: "a" })), store.jobs.add(job("two", 1)));
    await store.commit(store.jobs.removeOwner("a"));
    expect(await keys(["sweep"], ["", "a"])).toEqual(["two"]);
  });
});
