import { describe, expect, it } from "vitest";
import { forgetClosed, housekeeping } from "../../../packages/gateway/src/jobs/index.ts";
import { HOUR, kindOf, MINUTE, startRig } from "./rig.ts";

const DAY = 24 * HOUR;
const place = { agentId: "a", channel: "botchat", account: "" };

describe("whose a standing job is", () => {
  it("is said by the scope of its kind: an agent's, a node's, or the store's [JOBS-8]", async () => {
    const standing = (owner?: string) => () => [{ key: "one", ...(owner !== undefined && { owner }) }];
    const kinds = [
      kindOf({ name: "agents", scope: "agent", standing: standing("a"), next: (_, now) => now + HOUR }),
      kindOf({ name: "others", scope: "agent", standing: standing("b"), next: (_, now) => now + HOUR }),
      kindOf({ name: "nodes", scope: "node", standing: standing(), next: (_, now) => now + HOUR }),
      kindOf({ name: "stores", scope: "store", standing: standing("a"), next: (_, now) => now + HOUR }),
    ];
    const rig = startRig(kinds);
    await rig.jobs.start();
    await rig.settle();
    const rows = await rig.store.jobs.ofKinds(kinds.map(({ name }) => name));
    expect(rows.map(({ kind, owner }) => [kind, owner]).toSorted()).toEqual([
      ["agents", "a"],
      ["nodes", "node:here"],
      ["stores", ""],
    ]);
    expect(kinds[2]!.runs_).toHaveLength(0);
    await rig.advance(HOUR);
    // What a node calls itself is none of a kind's business.
    expect(kinds.map(({ runs_ }) => runs_.map(({ job }) => job.owner))).toEqual([["a"], [], [""], [""]]);
  });
});

describe("housekeeping", () => {
  it("is one job for the whole store, which comes again after its time [JOBS-9]", async () => {
    let times = 0;
    const rig = startRig([
      housekeeping("sweep", {
        everyMs: HOUR,
        changes: () => {
          times++;
          return [rig.store.positions.save(place, `swept ${times}`)];
        },
      }),
    ]);
    await rig.jobs.start();
    await rig.settle();
    expect(times).toBe(0);
    for (const passed of [1, 2, 3]) {
      await rig.advance(HOUR - 1);
      expect(times).toBe(passed - 1);
      await rig.advance(1);
      expect(await rig.store.positions.get(place)).toBe(`swept ${passed}`);
    }
    expect(await rig.row("all", "sweep")).toMatchObject({ owner: "", state: "waiting", attempts: 0 });
  });

  it("forgets a job that was closed thirty days ago, not a day earlier [JOBS-3]", async () => {
    const work = kindOf({ runs: "atMostOnce" });
    const rig = startRig([work]);
    await rig.jobs.start();
    await rig.plan("one");
    work.runs_[0]!.fail("no");
    await rig.settle();
    expect(await rig.row("one")).toMatchObject({ state: "failed" });
    const kind = forgetClosed(rig.store, rig.clock);
    expect(kind.name).toBe("jobs.closed");
    const sweep = async () => {
      const outcome = await kind.run({} as never, new AbortController().signal);
      await rig.store.commit(...(outcome?.changes ?? []));
    };
    rig.clock.advance(30 * DAY);
    await sweep();
    expect(await rig.row("one")).toBeDefined();
    rig.clock.advance(1);
    await sweep();
    expect(await rig.row("one")).toBeUndefined();
  });
});

describe("the end of a run", () => {
  it("is counted as what it was [JOBS-4, JOBS-6]", async () => {
    const work = kindOf({ concurrency: 9 });
    const rig = startRig([work]);
    await rig.jobs.start();
    for (const key of ["good", "bad", "cut"]) await rig.plan(key);
    const run = (key: string) => work.runs_.find(({ job }) => job.key === key)!;
    run("good").end();
    run("bad").fail("no");
    await rig.settle();
    const closed = rig.jobs.close();
    await rig.advance(5_000);
    await closed;
    expect(rig.counted.filter((line) => !line.includes("began")).toSorted()).toEqual([
      "work failed",
      "work interrupted",
      "work ok",
    ]);
    expect(rig.clock.timers()).toBe(0);
  });

  it("of a kind of at most once that has times is followed by the next of them [JOBS-3, JOBS-5]", async () => {
    const work = kindOf({ runs: "atMostOnce", next: (_, now) => now + HOUR });
    const rig = startRig([work]);
    await rig.jobs.start();
    await rig.plan("one");
    work.runs_[0]!.fail("no");
    await rig.settle();
    expect(await rig.row("one")).toMatchObject({
      state: "waiting",
      attempts: 0,
      nextAt: rig.clock.now() + HOUR,
      note: "no",
    });
  });

  it("of a kind whose next time is none comes after its longest pause [JOBS-6]", async () => {
    const backOff = { firstMs: 1_000, mostMs: 7 * MINUTE };
    const work = kindOf({ next: () => Number.NaN, backOff });
    const rig = startRig([work]);
    await rig.jobs.start();
    await rig.plan("one");
    work.runs_[0]!.end();
    await rig.settle();
    expect((await rig.row("one"))!.nextAt).toBe(rig.clock.now() + 7 * MINUTE);
  });
});

describe("the jobs of an agent that is removed", () => {
  it("end, and those of others go on [JOBS-8]", async () => {
    const work = kindOf({ scope: "agent", concurrency: 9 });
    const rig = startRig([work], { agents: () => ["a", "b"] });
    await rig.jobs.start();
    await rig.plan("of a", 0, { owner: "a" });
    await rig.plan("of b", 0, { owner: "b" });
    await rig.jobs.removeAgent("a");
    expect(work.runs_.map(({ job, signal }) => [job.key, signal.aborted])).toEqual([
      ["of a", true],
      ["of b", false],
    ]);
    expect(await rig.row("of a")).toBeUndefined();
    expect(await rig.row("of b")).toMatchObject({ state: "running" });
  });
});

describe("what belongs to another node", () => {
  it("stays as it is, standing jobs too, and is decided about once its agent is taken over [JOBS-8]", async () => {
    const kind = kindOf({
      scope: "agent",
      concurrency: 9,
      standing: () => [{ key: "of a", owner: "a" }],
      next: (_, now) => now + HOUR,
    });
    const rig = startRig([kind]);
    const now = rig.clock.now();
    const theirs = { kind: "work", key: "of b", owner: "b", payload: null, now, nextAt: now };
    await rig.store.commit(rig.store.jobs.add(theirs));
    const row = (await rig.row("of b"))!;
    await rig.store.commit(rig.store.jobs.claim(row, { holder: "another", leaseMs: HOUR, now }));
    await rig.jobs.start();
    await rig.settle();
    expect(await rig.row("of b")).toMatchObject({ state: "running", holder: "another" });
    expect(await rig.row("of a")).toMatchObject({ state: "waiting" });
    await rig.jobs.recover("c");
    expect(await rig.row("of b")).toMatchObject({ state: "running" });
    await rig.jobs.recover("b");
    expect(await rig.row("of b")).toMatchObject({ state: "waiting" });
    expect(rig.counted).toEqual(["work interrupted"]);
  });
});

describe("before the start", () => {
  it("nothing is read, planned or run [JOBS-7]", async () => {
    const always = kindOf({
      name: "always",
      standing: () => [{ key: "one" }],
      next: (_, now) => now + HOUR,
    });
    const work = kindOf();
    const rig = startRig([always, work]);
    await rig.jobs.reconfigure();
    await rig.plan("two");
    await rig.advance(HOUR);
    expect([rig.reads(), work.runs_.length, rig.clock.timers()]).toEqual([0, 0, 0]);
    await rig.jobs.start();
    await rig.settle();
    expect(work.runs_.map(({ job }) => [job.key, job.missed])).toEqual([["two", true]]);
  });
});

describe("a clock that was set back", () => {
  it("leaves pauses between attempts as they are, and asks kinds with times for theirs [JOBS-5]", async () => {
    const asked: unknown[] = [];
    const timed = kindOf({
      name: "timed",
      next(job, now) {
        asked.push(job);
        return now + 2 * HOUR;
      },
    });
    const work = kindOf({ backOff: { firstMs: 8_000, mostMs: HOUR } });
    const rig = startRig([work, timed]);
    await rig.jobs.start();
    await rig.plan("tried");
    work.runs_[0]!.fail("no");
    await rig.plan("planned", 3 * MINUTE);
    await rig.plan("timed", HOUR, { kind: "timed", payload: '{"n":1}' });
    await rig.settle();
    rig.clock.jump(-365 * DAY);
    await rig.advance(MINUTE);
    const now = rig.clock.now();
    // They count from when the clock was found to be set back, less than a minute ago.
    const left = async (key: string, kind?: string) =>
      Math.ceil(((await rig.row(key, kind))!.nextAt - now) / MINUTE);
    expect([await left("planned"), await left("timed", "timed")]).toEqual([3, 120]);
    expect(asked).toContainEqual({ key: "timed", payload: { n: 1 } });
    expect(work.runs_.map(({ job }) => job.key)).toContain("tried");
  });
});
