import { describe, expect, it } from "vitest";
import type { JobsDeps } from "../../../packages/gateway/src/jobs/index.ts";
import { FencedError, UnsettledError } from "../../../packages/gateway/src/store/index.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";
import { HOUR, kindOf, MINUTE, startRig } from "./rig.ts";

const KINDS = ["atLeastOnce", "atMostOnce"] as const;
const CLAIM = /SET state = 'running'/;

/** A job that waits, and what happens to the unit that claims it. */
async function claiming(
  runs: (typeof KINDS)[number],
  claim: (write: () => Promise<never>) => Promise<never>,
  { owner = "", next = false } = {},
) {
  const work = kindOf({
    runs,
    ...(owner !== "" && { scope: "agent" as const }),
    ...(next && { next: (_: unknown, now: number) => now + HOUR }),
  });
  const rig = startRig([work]);
  await rig.jobs.start();
  const { write } = rig.db;
  let claims = 0;
  rig.db.write = (...statements) => {
    if (!statements.some(({ sql }) => CLAIM.test(sql)) || ++claims > 1) return write(...statements);
    return claim(() => write(...statements) as Promise<never>);
  };
  await rig.plan("one", 0, { owner });
  return { work, rig, claims: () => claims };
}

describe("a job that was claimed when the gateway stopped", () => {
  it.each(KINDS)("and did not begin waits as it did before (%s) [JOBS-3, JOBS-4]", async (runs) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { work, rig } = await claiming(runs, (write) => promise.then(write));
    const before = await rig.row("one");
    const closed = rig.jobs.close();
    resolve();
    await closed;
    expect(work.runs_).toEqual([]);
    expect(await rig.row("one")).toMatchObject({
      state: "waiting",
      attempts: 0,
      nextAt: before!.nextAt,
      note: null,
    });
    expect(rig.counted).toEqual([]);
    expect(rig.clock.timers()).toBe(0);
    const next = startRig([work], { db: rig.db, clock: rig.clock });
    await next.jobs.start();
    await next.settle();
    expect(work.runs_.map(({ job }) => job.attempt)).toEqual([1]);
  });
});

describe("a job whose claim was refused, as the store stopped answering", () => {
  it.each(KINDS.flatMap((runs) => [true, false].map((stored) => [runs, stored] as const)))(
    "runs once when the store is back (%s, claimed: %s) [STORE-COMMIT-2, JOBS-1]",
    async (runs, stored) => {
      const { promise: outcome, resolve } = Promise.withResolvers<boolean>();
      const { work, rig } = await claiming(runs, async (write) => {
        if (stored) await write();
        throw new UnsettledError({}, outcome);
      });
      await rig.advance(HOUR);
      expect(work.runs_).toEqual([]);
      expect((await rig.row("one"))!.state).toBe(stored ? "running" : "waiting");
      resolve(stored);
      await rig.advance(MINUTE);
      expect(work.runs_.map(({ job }) => job.attempt)).toEqual([1]);
      work.runs_[0]!.end();
      await rig.advance(HOUR);
      expect(await rig.row("one")).toBeUndefined();
      expect(work.runs_).toHaveLength(1);
      expect(rig.counted.map((text) => text.replace(/\d+/, "n"))).toEqual(["work began n late", "work ok"]);
    },
  );

  it("keeps no stop waiting, and is left to the next start [STORE-COMMIT-2, JOBS-4]", async () => {
    const { work, rig } = await claiming("atLeastOnce", async (write) => {
      await write();
      throw new UnsettledError({}, new Promise(() => {}));
    });
    await rig.jobs.close();
    expect(await rig.row("one")).toMatchObject({ state: "running" });
    const next = startRig([work], { db: rig.db, clock: rig.clock, holder: "next" });
    await next.jobs.start();
    await next.advance(MINUTE);
    expect(work.runs_).toHaveLength(1);
  });

  it("is left alone if somebody else has taken it meanwhile [STORE-COMMIT-2, JOBS-2]", async () => {
    const { promise: outcome, resolve } = Promise.withResolvers<boolean>();
    const { rig } = await claiming("atLeastOnce", async (write) => {
      await write();
      throw new UnsettledError({}, outcome);
    });
    const theirs = kindOf();
    const other = startRig([theirs], { db: rig.db, clock: rig.clock, holder: "other" });
    await other.jobs.start();
    await other.advance(MINUTE);
    expect(theirs.runs_).toHaveLength(1);
    resolve(true);
    await rig.advance(MINUTE - 1);
    expect(await rig.row("one")).toMatchObject({ state: "running", holder: "other" });
    expect(rig.counted).toEqual([]);
  });
});

describe("what is changed for a job", () => {
  /** A scheduler that notes for whom each unit is committed; the store refuses those of an agent that was taken. */
  const noting = () => {
    const db = memoryDatabase();
    const store = createStore(db);
    const state = { by: [] as string[], taken: false };
    const forAgent = (agent: string) => ({
      ...store.forAgent(agent),
      async commit(...changes: Parameters<typeof store.commit>) {
        state.by.push(agent);
        if (state.taken) throw new FencedError();
        return store.commit(...changes);
      },
    });
    const commit = async (...changes: Parameters<typeof store.commit>) => {
      state.by.push("gateway");
      return store.commit(...changes);
    };
    const deps = { jobs: store.jobs, commit, forAgent } as unknown as JobsDeps["store"];
    return { db, state, store: deps };
  };

  it.each([
    ["agent", "a", "a"],
    ["store", "", "gateway"],
    ["node", "node:here", "gateway"],
  ] as const)(
    "of %s is refused once the agent was taken, and only then [JOBS-8, JOBS-2]",
    async (scope, owner, by) => {
      const { db, state, store } = noting();
      const work = kindOf({ scope });
      const rig = startRig([work], { db, store });
      await rig.jobs.start();
      state.by.length = 0;
      await rig.plan("one", 0, { owner });
      await rig.plan("two", 0, { owner });
      expect(state.by).toEqual([by]);
      state.taken = true;
      work.runs_[0]!.end();
      await rig.settle();
      expect(new Set(state.by)).toEqual(new Set([by]));
      // Whoever owns the agent now decides about it.
      expect((await rig.row("one"))?.state).toBe(by === "a" ? "running" : undefined);
      expect(rig.counted[1]).toBe(by === "a" ? "work interrupted" : "work ok");
      expect(work.runs_).toHaveLength(by === "a" ? 1 : 2);
    },
  );

  it("of an agent that is recovered, or whose clock was set back, is its owner's alone [JOBS-8, JOBS-5]", async () => {
    const { db, state, store } = noting();
    const first = startRig([kindOf({ scope: "agent", concurrency: 1 })], { db, holder: "before" });
    await first.jobs.start();
    await first.plan("one", 0, { owner: "a" });
    await first.plan("two", HOUR, { owner: "a" });
    first.kill();
    const rig = startRig([kindOf({ scope: "agent", concurrency: 9 })], { db, store, clock: first.clock });
    state.taken = true;
    await rig.jobs.recover("a");
    expect(await rig.row("one")).toMatchObject({ state: "running", holder: "before" });
    state.taken = false;
    await rig.jobs.recover("a");
    expect(await rig.row("one")).toMatchObject({ state: "waiting" });
    rig.clock.jump(-24 * HOUR);
    state.taken = true;
    await rig.jobs.start();
    expect((await rig.row("two"))!.nextAt).toBeGreaterThan(rig.clock.now() + HOUR);
    expect(new Set(state.by)).toEqual(new Set(["a"]));
    await rig.jobs.close();
  });
});

describe("the lease of a claim", () => {
  it("begins anew with each claim of the same job [JOBS-8]", async () => {
    const mine = kindOf({ limitMs: MINUTE });
    const theirs = kindOf({ limitMs: MINUTE });
    const first = startRig([mine], { holder: "first", alone: false });
    const second = startRig([theirs], { holder: "second", alone: false, db: first.db, clock: first.clock });
    await first.jobs.start();
    await second.jobs.start();
    await first.plan("one");
    for (let n = 0; n < 11; n++) await first.advance(5_000);
    // Its second run has the whole of its time.
    mine.runs_[0]!.end({ again: first.clock.now() });
    for (let n = 0; n < 11; n++) await first.advance(5_000);
    expect([mine.runs_.length, theirs.runs_.length]).toEqual([2, 0]);
    expect(await first.row("one")).toMatchObject({ state: "running", holder: "first" });
  });
});
