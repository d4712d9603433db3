import { expect, it } from "vitest";
import { createJudge } from "../../../packages/gateway/src/owners/judge.ts";
import { createLease } from "../../../packages/gateway/src/owners/lease.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

const node = (counter: number) => ({ bootId: "b", name: "b", address: "", home: "b", counter });

it("counts silence from the answer that first told a counter to the question that told it last [OWN-1]", () => {
  const judge = createJudge();
  judge.read([node(1)], 0, 900);
  expect(judge.read([node(1)], 1_000, 1_800).get("b")).toBe(100);
  expect(judge.read([node(1)], 2_000, 2_900).get("b")).toBe(1_100);
  expect(judge.read([node(2)], 3_000, 3_010).get("b")).toBeLessThanOrEqual(0);
  expect(judge.read([node(2)], 4_010, 4_020).get("b")).toBe(1_000);
});

it("starts anew after a gap in its own readings, and for a gateway that came back [OWN-1]", () => {
  const judge = createJudge();
  for (let at = 0; at <= 4_000; at += 1_000) judge.read([node(7)], at, at);
  expect(judge.read([node(7)], 5_000, 5_000).get("b")).toBe(5_000);
  expect(judge.read([node(7)], 60_000, 60_000).get("b")).toBe(0);
  judge.read([], 61_000, 61_000);
  expect(judge.read([node(7)], 62_000, 62_000).get("b")).toBe(0);
});

it("ends a lease at 60 % of it, counted from when the last good beat was sent, alone never [OWN-1]", async () => {
  const clock = manualClock(0);
  const answers: Array<() => void> = [];
  const told: string[] = [];
  let shared = true;
  const lease = createLease({
    clock,
    leaseMs: () => 10_000,
    beat: () => new Promise((resolve) => void answers.push(resolve)),
    shared: () => shared,
    onOver: () => told.push(`over at ${clock.elapsed()}`),
    onDoubt: () => told.push(`doubt at ${clock.elapsed()}`),
    onBeat() {},
  });
  const settle = async () => {
    for (let n = 0; n < 10; n++) await undefined;
  };
  void lease.start();
  expect(lease.good()).toBe(false);
  clock.advance(1_500);
  answers[0]!();
  await settle();
  expect(lease.good()).toBe(true);
  clock.advance(4_499);
  expect(lease.good()).toBe(true);
  shared = false;
  clock.advance(1);
  expect(lease.good()).toBe(true);
  shared = true;
  lease.check();
  expect(lease.good()).toBe(false);
  expect(lease.fresh()).toBe(false);
  expect(told).toEqual(["doubt at 6000", "over at 6000"]);
  lease.close();
});
