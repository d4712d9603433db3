import { GatewayError } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import type { JobKind } from "../../../packages/gateway/src/jobs/index.ts";
import { HOUR, kindOf, MINUTE, startRig } from "./rig.ts";

const place = { agentId: "a", channel: "botchat", account: "" };
const LEASE = MINUTE + 10_000;

/** What the next start makes of a run that a crash cut off. */
async function afterCrash(more: Partial<JobKind>) {
  const lost = kindOf(more);
  const rig = startRig([lost], { holder: "before" });
  await rig.jobs.start();
  if (!lost.standing) await rig.plan("one");
  await rig.advance(lost.standing ? HOUR : 0);
  expect(lost.runs_).toHaveLength(1);
  rig.kill();
  const kind = kindOf(more);
  const next = startRig([kind], { db: rig.db, clock: rig.clock });
  await next.jobs.start();
  await next.settle();
  return { kind, rig: next };
}

describe("a run that a crash cut off", () => {
  it("is made up for after a pause where its kind runs at least once [JOBS-3]", async () => {
    const { kind, rig } = await afterCrash({});
    expect(await rig.row("one")).toMatchObject({ state: "waiting", attempts: 1 });
    await rig.advance(1_000);
    expect(kind.runs_.map(({ job }) => job.attempt)).toEqual([2]);
    expect(rig.counted).toEqual(["work interrupted", "work began 0 late"]);
  });

  it("is closed as interrupted where its kind runs at most once, with what the kind makes of it [JOBS-3]", async () => {
    let interrupted = 0;
    const { kind, rig } = await afterCrash({
      runs: "atMostOnce",
      interrupted(job) {
        interrupted += job.attempt;
        return [];
      },
    });
    await rig.advance(HOUR);
    expect(await rig.row("one")).toMatchObject({ state: "interrupted" });
    expect([kind.runs_.length, interrupted]).toEqual([0, 1]);
  });

  it("waits for its next time where its kind runs at most once and has times [JOBS-3]", async () => {
    const { kind, rig } = await afterCrash({
      runs: "atMostOnce",
      next: (_, now) => now + HOUR,
      standing: () => [{ key: "one" }],
    });
    expect(await rig.row("one")).toMatchObject({ state: "waiting", note: "interrupted" });
    await rig.advance(HOUR);
    expect(kind.runs_).toHaveLength(1);
  });

  it("of a kind that this gateway does not know is left alone [JOBS-3]", async () => {
    const lost = kindOf({ name: "newer" });
    const rig = startRig([lost], { holder: "before" });
    await rig.jobs.start();
    await rig.plan("one", 0, { kind: "newer" });
    rig.kill();
    const next = startRig([kindOf()], { db: rig.db, clock: rig.clock });
    await next.jobs.start();
    await next.advance(HOUR);
    expect(await rig.row("one", "newer")).toMatchObject({ state: "running" });
  });
});

describe("a stop of the gateway", () => {
  it("aborts runs: at least once is put back uncounted, at most once is closed [JOBS-4]", async () => {
    const least = kindOf();
    const most = kindOf({ name: "most", runs: "atMostOnce" });
    const done = kindOf({ name: "done" });
    const rig = startRig([least, most, done]);
    await rig.jobs.start();
    for (const kind of ["work", "most", "done"]) await rig.plan("one", 0, { kind });
    const closed = rig.jobs.close();
    for (const { runs_ } of [least, most]) {
      expect(runs_[0]!.signal.aborted).toBe(true);
      runs_[0]!.fail("aborted");
    }
    done.runs_[0]!.end();
    await closed;
    expect(await rig.row("one")).toMatchObject({ state: "waiting", attempts: 0, note: null });
    expect(await rig.row("one", "most")).toMatchObject({ state: "interrupted" });
    expect(await rig.row("one", "done")).toBeUndefined();
    expect(rig.clock.timers()).toBe(0);
    await rig.plan("two");
    expect(least.runs_).toHaveLength(1);
    expect(rig.lines).toEqual([]);
  });
});

describe("a store that is away", () => {
  it("is asked again, and the end of a run is not lost [JOBS-2, JOBS-4]", async () => {
    const work = kindOf();
    const rig = startRig([work]);
    await rig.jobs.start();
    const write = rig.db.write;
    const fails = () => Promise.reject(new Error("disk full"));
    await rig.plan("one", MINUTE);
    rig.db.write = fails;
    await rig.advance(MINUTE);
    await rig.advance(MINUTE);
    expect(work.runs_).toHaveLength(0);
    rig.db.write = write;
    await rig.advance(5_000);
    expect(work.runs_).toHaveLength(1);
    rig.db.write = fails;
    work.runs_[0]!.end();
    await rig.advance(MINUTE);
    rig.db.write = write;
    await rig.advance(5_000);
    // It is not known to have had its effect, so it has failed.
    expect(await rig.row("one")).toMatchObject({ state: "waiting", attempts: 1, note: "disk full" });
    await rig.advance(1_000);
    expect(work.runs_).toHaveLength(2);
  });
});

describe("a store that does not answer", () => {
  it("gets the effect of a run once it is back, also where the run is not repeated [JOBS-2, JOBS-4]", async () => {
    const work = kindOf({ runs: "atMostOnce" });
    const rig = startRig([work]);
    await rig.jobs.start();
    await rig.plan("one");
    const { write } = rig.db;
    rig.db.write = () => Promise.reject(new GatewayError("UNAVAILABLE"));
    const place = { agentId: "a", channel: "botchat", account: "" } as const;
    work.runs_[0]!.end({ changes: [rig.store.positions.save(place, "done")] });
    await rig.advance(20_000);
    expect(await rig.row("one")).toMatchObject({ state: "running" });
    rig.db.write = write;
    await rig.advance(5_000);
    expect(await rig.store.positions.get(place)).toBe("done");
    expect(await rig.row("one")).toBeUndefined();
    expect(work.runs_).toHaveLength(1);
  });
});

describe("two processes on one store", () => {
  const two = async () => {
    const mine = kindOf();
    const theirs = kindOf();
    const first = startRig([mine], { holder: "first", alone: false });
    const second = startRig([theirs], { holder: "second", alone: false, db: first.db, clock: first.clock });
    await first.jobs.start();
    await second.jobs.start();
    return { mine, theirs, first, second };
  };

  it("run a job once, and see what the other one planned [JOBS-1, JOBS-8]", async () => {
    const { mine, theirs, first } = await two();
    for (let n = 0; n < 20; n++) await first.plan(`${n}`, 10_000);
    for (let n = 0; n < 40; n++) {
      await first.advance(5_000);
      for (const run of [...mine.runs_, ...theirs.runs_]) run.end();
    }
    const keys = [...mine.runs_, ...theirs.runs_].map(({ job }) => job.key);
    expect(keys).toHaveLength(20);
    expect(new Set(keys).size).toBe(20);
    expect(theirs.runs_.length).toBeGreaterThan(0);
  });

  it("take a job over when the other one's lease is over, and not before, whatever the wall clock says [JOBS-8]", async () => {
    const { mine, theirs, first, second } = await two();
    await first.plan("one");
    expect(mine.runs_).toHaveLength(1);
    await second.advance(0);
    first.kill();
    first.clock.jump(24 * HOUR);
    for (let passed = 0; passed < LEASE; passed += 5_000) await second.advance(5_000);
    expect(await second.row("one")).toMatchObject({ state: "running", holder: "first" });
    // It looks every five seconds, and began to count when it first saw the claim.
    for (let n = 0; n < 2; n++) await second.advance(5_000);
    expect(theirs.runs_.map(({ job }) => job.attempt)).toEqual([2]);
    expect(await second.row("one")).toMatchObject({ state: "running", holder: "second" });
  });

  it("lose a run whose claim the other one took: it changes nothing any more [JOBS-2, JOBS-8]", async () => {
    const { mine, theirs, first, second } = await two();
    await first.plan("one");
    first.freeze();
    for (let n = 0; n < 20; n++) await second.advance(5_000);
    expect(theirs.runs_).toHaveLength(1);
    mine.runs_[0]!.end({ changes: [first.store.positions.save(place, "late")] });
    await first.settle();
    expect(await first.store.positions.get(place)).toBeUndefined();
    expect(await first.row("one")).toMatchObject({ state: "running", holder: "second" });
    expect(first.counted.at(-1)).toBe("work interrupted");
  });
});
