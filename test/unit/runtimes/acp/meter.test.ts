import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../packages/gateway/src/runtimes/acp/meter.ts";
import { runTurn } from "../open-options.ts";
import { openFake } from "./open-fake.ts";

const spent = (amount: unknown, currency = "USD") => ({
  sessionUpdate: "usage_update",
  used: 19992,
  size: 1_000_000,
  cost: { amount, currency },
});
const answer = (inputTokens: number, outputTokens: number) => ({
  stopReason: "end_turn",
  usage: { totalTokens: 0, inputTokens, outputTokens, cachedReadTokens: 5, cachedWriteTokens: null },
});
const counts = (inputTokens: number, outputTokens: number) => ({
  model: "m",
  inputTokens,
  outputTokens,
  cacheReadTokens: 5,
  cacheWriteTokens: 0,
});

describe("what a turn over ACP used [USE-2]", () => {
  test("is what its answer says, and the growth of the session's cost", () => {
    const meter = createMeter(false);
    meter.begin();
    meter.saw(spent(0.25));
    expect(meter.end(answer(10, 2), "m")).toEqual({ models: [counts(10, 2)], cost: 0.25 });
    meter.begin();
    meter.saw(spent(0.75));
    expect(meter.end({ stopReason: "end_turn" }, "m")).toEqual({ models: [], cost: 0.5 });
    meter.begin();
    expect(meter.end(answer(1, 1), "m")).toEqual({ models: [counts(1, 1)] });
    expect(meter.end(null, "m")).toBeUndefined();
  });

  test("leaves out what a resumed session cost before", () => {
    const told = createMeter(true);
    told.saw(spent(2));
    told.begin();
    told.saw(spent(2.5));
    expect(told.end(null, "m")).toEqual({ models: [], cost: 0.5 });
    const untold = createMeter(true);
    untold.begin();
    untold.saw(spent(2.5));
    expect(untold.end(null, "m")).toBeUndefined();
    untold.begin();
    untold.saw(spent(2.75));
    expect(untold.end(null, "m")).toEqual({ models: [], cost: 0.25 });
  });

  test("is no amount in another currency, and nothing impossible", () => {
    const meter = createMeter(false);
    for (const cost of [spent(1, "EUR"), spent(-1), spent("1"), { sessionUpdate: "usage_update" }]) {
      meter.begin();
      meter.saw(cost);
      expect(meter.end({ usage: { inputTokens: "1", outputTokens: -3 } }, "m")).toBeUndefined();
    }
  });

  test("comes with the outcome of the turn", async () => {
    const session = await openFake();
    const { outcome } = await runTurn(session, "SPENT 0.5 USD\nTOKENS 10 2\nSAY hello");
    expect(outcome.usage).toEqual({
      models: [
        { model: undefined, inputTokens: 10, outputTokens: 2, cacheReadTokens: 0, cacheWriteTokens: 0 },
      ],
      cost: 0.5,
    });
    expect((await runTurn(session, "SAY hello")).outcome).not.toHaveProperty("usage");
  });
});
