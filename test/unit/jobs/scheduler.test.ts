import { describe, expect, it } from "vitest";
import { HOUR, kindOf, MINUTE, startRig } from "./rig.ts";

const place = { agentId: "a", channel: "botchat", account: "" };

describe("a job", () => {
  it("runs at its time and leaves nothing but its effect [JOBS-1, JOBS-2, JOBS-10]", async () => {
    const work = kindOf();
    const rig = startRig([work]);
    await rig.jobs.start();
    await rig.plan("one", 5 * MINUTE, { payload: '{"n":1}' });
    await rig.advance(5 * MINUTE - 1);
    expect(work.runs_).toHaveLength(0);
    await rig.advance(1);
    expect(work.runs_.map(({ job }) => job)).toEqual([
      {
        kind: "work",
        key: "one",
        owner: "",
        payload: { n: 1 },
        attempt: 1,
        dueAt: rig.clock.now(),
        missed: false,
      },
    ]);
    expect(await rig.row("one")).toMatchObject({ state: "running", holder: "me" });
    await rig.advance(MINUTE - 1);
    work.runs_[0]!.end({ changes: [rig.store.positions.save(place, "done")] });
    await rig.settle();
    expect(await rig.row("one")).toBeUndefined();
    expect(await rig.store.positions.get(place)).toBe("done");
    expect(rig.counted).toEqual(["work began 0 late", "work ok"]);
    expect(rig.lines).toEqual([]);
  });

  it("is not run a second time while it runs, and waits where its kind is full [JOBS-1, JOBS-7]", async () => {
    const work = kindOf({ concurrency: 2 });
    const other = kindOf({ name: "other" });
    const rig = startRig([work, other]);
    await rig.jobs.start();
    for (let n = 0; n < 100; n++) await rig.plan(`${n}`);
    await rig.plan("last", 0, { kind: "other" });
    await rig.advance(10_000);
    expect(work.runs_.map(({ job }) => job.key)).toEqual(["0", "1"]);
    expect(other.runs_).toHaveLength(1);
    expect(rig.jobs.running("work")).toBe(2);
    work.runs_[1]!.end();
    await rig.settle();
    // Those that wait for the same time come by key.
    expect(work.runs_.map(({ job }) => job.key)).toEqual(["0", "1", "10"]);
  });

  it("is run by nobody where its agent belongs to another node, or is missing [JOBS-8]", async () => {
    const work = kindOf({ concurrency: 9, scope: "agent" });
    const agents = ["a"];
    const rig = startRig([work], { agents: () => agents });
    await rig.jobs.start();
    await rig.plan("mine", 0, { owner: "a" });
    await rig.plan("theirs", 0, { owner: "b" });
    await rig.plan("there", 0, { owner: "node:there" });
    await rig.plan("here", 0, { owner: "node:here" });
    await rig.advance(HOUR);
    expect(work.runs_.map(({ job }) => [job.key, job.owner])).toEqual([
      ["mine", "a"],
      ["here", ""],
    ]);
    agents.push("b");
    await rig.jobs.reconfigure();
    await rig.settle();
    expect(work.runs_.map(({ job }) => job.key)).toEqual(["mine", "here", "theirs"]);
    await rig.jobs.removeAgent("b");
    expect(work.runs_.map(({ signal }) => signal.aborted)).toEqual([true, true, true]);
    expect(await rig.row("theirs")).toBeUndefined();
  });

  it("that fails pauses longer each time and shows once per change [JOBS-6]", async () => {
    const work = kindOf();
    const rig = startRig([work]);
    await rig.jobs.start();
    await rig.plan("one");
    const pauses: number[] = [];
    for (const message of ["refused", "refused", "away", "away", "away", "refused"]) {
      const begun = work.runs_.length;
      work.runs_.at(-1)!.fail(message);
      await rig.settle();
      const row = await rig.row("one");
      pauses.push(row!.nextAt - rig.clock.now());
      await rig.advance(pauses.at(-1)! - 1);
      expect(work.runs_).toHaveLength(begun);
      await rig.advance(1);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(work.runs_.map(({ job }) => job.attempt)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    work.runs_.at(-1)!.end();
    await rig.settle();
    expect(rig.lines).toEqual([
      "warn: a job failed: refused",
      "warn: a job failed: away",
      "warn: a job failed: refused",
      "info: a job succeeds again",
    ]);
  });

  it("pauses by chance between three quarters of its pause and all of it [JOBS-6]", async () => {
    const work = kindOf();
    const rig = startRig([work], { random: () => 0 });
    await rig.jobs.start();
    await rig.plan("one");
    work.runs_[0]!.fail("refused");
    await rig.settle();
    expect((await rig.row("one"))!.nextAt - rig.clock.now()).toBe(750);
  });

  it("may say when it runs again, and by that counts from the first attempt anew [JOBS-6]", async () => {
    const work = kindOf();
    const rig = startRig([work]);
    await rig.jobs.start();
    await rig.plan("one");
    work.runs_[0]!.end({ again: rig.clock.now() + HOUR });
    await rig.settle();
    expect(await rig.row("one")).toMatchObject({ state: "waiting", attempts: 0 });
    await rig.advance(HOUR);
    expect(work.runs_).toHaveLength(2);
    work.runs_[1]!.end({ again: 0 });
    await rig.settle();
    expect(work.runs_).toHaveLength(2);
    await rig.advance(1_000);
    expect(work.runs_).toHaveLength(3);
  });

  it("of at most once is closed when it fails [JOBS-3]", async () => {
    const work = kindOf({ runs: "atMostOnce" });
    const rig = startRig([work]);
    await rig.jobs.start();
    await rig.plan("one");
    work.runs_[0]!.fail("refused");
    await rig.advance(HOUR);
    expect(work.runs_).toHaveLength(1);
    expect(await rig.row("one")).toMatchObject({ state: "failed", note: "refused" });
  });

  it("ends after its time limit, also where it does not listen [JOBS-4]", async () => {
    const work = kindOf();
    const rig = startRig([work]);
    await rig.jobs.start();
    await rig.plan("one");
    await rig.advance(MINUTE - 1);
    expect(work.runs_[0]!.signal.aborted).toBe(false);
    await rig.advance(1);
    expect(work.runs_[0]!.signal.aborted).toBe(true);
    expect(await rig.row("one")).toMatchObject({ state: "running" });
    await rig.advance(5_000);
    expect(await rig.row("one")).toMatchObject({ state: "waiting", note: "It took longer than 60 s." });
    await rig.advance(1_000);
    expect(work.runs_).toHaveLength(2);
    // What the first run still says counts for nothing.
    work.runs_[0]!.end({ changes: [rig.store.positions.save(place, "late")] });
    await rig.settle();
    expect(await rig.row("one")).toMatchObject({ state: "running" });
    expect(await rig.store.positions.get(place)).toBeUndefined();
  });

  it("fails where the store refuses its effect, and ends without it [JOBS-2]", async () => {
    const work = kindOf();
    const rig = startRig([work]);
    await rig.jobs.start();
    await rig.plan("one");
    const taken = rig.store.jobs.end({ kind: "work", key: "unknown" }, 1, { state: "done" });
    work.runs_[0]!.end({ changes: [rig.store.positions.save(place, "x"), taken] });
    await rig.settle();
    expect(await rig.store.positions.get(place)).toBeUndefined();
  });
});

describe("standing jobs", () => {
  const hourly = () =>
    kindOf({ name: "hourly", next: (_, now) => now + HOUR, standing: () => [{ key: "all" }] });

  it("are planned once, and come again after each run, also over a restart [JOBS-9]", async () => {
    const first = hourly();
    const rig = startRig([first]);
    await rig.jobs.start();
    await rig.advance(40 * MINUTE);
    await rig.jobs.close();
    const second = hourly();
    const next = startRig([second], { db: rig.db, clock: rig.clock });
    await next.jobs.start();
    await next.advance(20 * MINUTE);
    expect(first.runs_).toHaveLength(0);
    expect(second.runs_).toHaveLength(1);
    second.runs_[0]!.end();
    await next.advance(HOUR - 1);
    expect(second.runs_).toHaveLength(1);
    await next.advance(1);
    expect(second.runs_).toHaveLength(2);
  });

  it("that were missed run once, and are told so [JOBS-5]", async () => {
    const rig = startRig([hourly()]);
    await rig.jobs.start();
    await rig.jobs.close();
    rig.clock.advance(100 * HOUR);
    const kind = hourly();
    const next = startRig([kind], { db: rig.db, clock: rig.clock });
    await next.jobs.start();
    await next.settle();
    expect(kind.runs_.map(({ job }) => job.missed)).toEqual([true]);
    kind.runs_[0]!.end();
    await next.advance(HOUR - 1);
    expect(kind.runs_).toHaveLength(1);
    expect(next.counted[0]).toBe(`hourly began ${99 * HOUR} late`);
    await next.advance(1);
    expect(kind.runs_.map(({ job }) => job.missed)).toEqual([true, false]);
  });

  it("are planned anew with other settings, also while they run, and go when nobody wants them [JOBS-9]", async () => {
    let wanted = [{ key: "one", payload: { ms: HOUR } }];
    const kind = kindOf({
      next: ({ payload }, now) => now + (payload as { ms: number }).ms,
      standing: () => wanted,
    });
    const rig = startRig([kind]);
    await rig.jobs.start();
    wanted = [{ key: "one", payload: { ms: MINUTE } }];
    await rig.jobs.reconfigure();
    await rig.advance(MINUTE);
    expect(kind.runs_).toHaveLength(1);
    wanted = [{ key: "one", payload: { ms: 2 * MINUTE } }];
    await rig.jobs.reconfigure();
    kind.runs_[0]!.end();
    await rig.settle();
    expect((await rig.row("one"))!.nextAt).toBe(rig.clock.now() + 2 * MINUTE);
    wanted = [];
    await rig.jobs.reconfigure();
    expect(await rig.row("one")).toBeUndefined();
  });

  it("cost one timer and no read or write while none is due [JOBS-7]", async () => {
    const rig = startRig([hourly()]);
    await rig.jobs.start();
    await rig.settle();
    const [units, reads] = [rig.store.units, rig.reads()];
    for (let n = 0; n < 59; n++) {
      await rig.advance(MINUTE);
      expect(rig.clock.timers()).toBe(1);
    }
    expect([rig.store.units, rig.reads()]).toEqual([units, reads]);
    const again = startRig([hourly()], { db: rig.db, clock: rig.clock });
    const write = rig.db.write;
    let writes = 0;
    rig.db.write = (...statements) => {
      writes++;
      return write(...statements);
    };
    await again.jobs.start();
    expect(writes).toBe(0);
  });
});

describe("a clock that is set", () => {
  const hourly = () =>
    kindOf({ name: "hourly", next: (_, now) => now + HOUR, standing: () => [{ key: "all" }] });

  it("back by a year delays no job by more than its pause [JOBS-5]", async () => {
    const kind = hourly();
    const work = kindOf();
    const rig = startRig([kind, work]);
    await rig.jobs.start();
    await rig.plan("soon", 10 * MINUTE);
    rig.clock.jump(-365 * 24 * HOUR);
    await rig.advance(12 * MINUTE);
    expect(work.runs_).toHaveLength(1);
    await rig.advance(50 * MINUTE);
    expect(kind.runs_).toHaveLength(1);
  });

  it("back while the gateway was down delays no job by more than its pause [JOBS-5]", async () => {
    const rig = startRig([hourly()]);
    await rig.jobs.start();
    await rig.jobs.close();
    rig.clock.jump(-365 * 24 * HOUR);
    const kind = hourly();
    const next = startRig([kind], { db: rig.db, clock: rig.clock });
    await next.jobs.start();
    await next.advance(HOUR);
    expect(kind.runs_).toHaveLength(1);
  });

  it("on by a year, and back again, runs each job once [JOBS-5]", async () => {
    const kind = hourly();
    const rig = startRig([kind]);
    await rig.jobs.start();
    rig.clock.jump(365 * 24 * HOUR);
    await rig.advance(MINUTE);
    expect(kind.runs_).toHaveLength(1);
    kind.runs_[0]!.end();
    await rig.advance(30 * MINUTE);
    rig.clock.jump(-365 * 24 * HOUR);
    await rig.advance(59 * MINUTE);
    expect(kind.runs_).toHaveLength(1);
    await rig.advance(2 * MINUTE);
    expect(kind.runs_).toHaveLength(2);
  });

  it("back during a run does not touch its time limit [JOBS-5, JOBS-4]", async () => {
    const work = kindOf();
    const rig = startRig([work]);
    await rig.jobs.start();
    await rig.plan("one");
    rig.clock.jump(-24 * HOUR);
    await rig.advance(MINUTE);
    expect(work.runs_[0]!.signal.aborted).toBe(true);
    work.runs_[0]!.fail("aborted");
    await rig.advance(1_000);
    expect(work.runs_).toHaveLength(2);
  });
});
