import { describe, expect, it } from "vitest";
import { watchTrouble } from "../../../../packages/gateway/src/channels/intake/trouble.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";

const LIMITED = "The model provider limits the rate of requests (429).";

describe("a chat whose agent's model does not answer", () => {
  it("is told after ten seconds, once a turn [RETRY-4]", () => {
    const clock = manualClock();
    const told: string[] = [];
    let cause: string | undefined = LIMITED;
    const watch = watchTrouble(
      clock,
      () => cause,
      (line) => told.push(line),
    );
    clock.advance(9_000);
    expect([told, watch.line()]).toEqual([[], ""]);
    clock.advance(3_000);
    expect(told).toEqual([`${LIMITED} Still trying.`]);
    expect(watch.line()).toBe(`${LIMITED} Still trying.`);
    cause = undefined;
    expect(watch.line()).toBe("");
    clock.advance(20_000);
    cause = LIMITED;
    clock.advance(60_000);
    expect(told).toHaveLength(1);
    watch.end();
  });

  it("is not told of troubles that pass, nor after the turn [RETRY-4]", () => {
    const clock = manualClock();
    const told: string[] = [];
    let cause: string | undefined;
    const watch = watchTrouble(
      clock,
      () => cause,
      (line) => told.push(line),
    );
    for (let n = 0; n < 10; n++) {
      cause = n % 2 === 0 ? LIMITED : undefined;
      clock.advance(6_000);
    }
    cause = LIMITED;
    watch.end();
    clock.advance(60_000);
    expect(told).toEqual([]);
  });
});
