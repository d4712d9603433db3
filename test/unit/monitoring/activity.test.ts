import { describe, expect, it } from "vitest";
import { createActivity } from "../../../packages/gateway/src/monitoring/activity.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

const STEP_MS = 300_000;

describe("the activity of the last 24 hours", () => {
  it("counts by steps of five minutes, with nothing where nothing happened [MON-ACT-1]", () => {
    const clock = manualClock();
    let memory = 50;
    const activity = createActivity(clock, () => memory);
    const from = clock.now();
    activity.received();
    activity.received();
    activity.sent();
    activity.ended("done", 100);
    clock.advance(60_000);
    memory = 90;
    clock.advance(60_000);
    memory = 70;
    clock.advance(2 * STEP_MS - 120_000);
    activity.ended("failed", 10);
    expect(activity.report()).toEqual({
      from,
      stepMs: STEP_MS,
      received: [2, 0, 0],
      replies: [1, 0, 0],
      turns: [1, 0, 1],
      failed: [0, 0, 1],
      p50Ms: [107, null, 11],
      p95Ms: [107, null, 11],
      memory: [90, 70, 70],
    });
  });

  it("says within which time half and nearly all turns ended, to 10 % [MON-ACT-1]", () => {
    const activity = createActivity(manualClock(), () => 1);
    for (let ms = 1; ms <= 1000; ms++) activity.ended("done", ms);
    const { p50Ms, p95Ms } = activity.report();
    expect(p50Ms[0]).toBeGreaterThanOrEqual(500);
    expect(p50Ms[0]).toBeLessThanOrEqual(550);
    expect(p95Ms[0]).toBeGreaterThanOrEqual(950);
    expect(p95Ms[0]).toBeLessThanOrEqual(1045);
    for (const ms of [0, 1e12]) {
      const edge = createActivity(manualClock(), () => 1);
      edge.ended("done", ms);
      expect(edge.report().p50Ms[0]).toBeGreaterThan(0);
    }
  });

  it("keeps a day and no more, whatever happens to the system's clock [MON-ACT-1]", () => {
    const clock = manualClock();
    const activity = createActivity(clock, () => 1);
    activity.received();
    for (let hour = 0; hour < 30; hour++) clock.advance(12 * STEP_MS);
    activity.received();
    const { received, from } = activity.report();
    expect(received).toHaveLength(288);
    expect(received.reduce((sum, count) => sum + count)).toBe(1);
    expect(received.at(-1)).toBe(1);
    expect(clock.now() - from).toBeLessThanOrEqual(288 * STEP_MS);
    expect(clock.now() - from).toBeGreaterThan(287 * STEP_MS - 1);
  });
});
