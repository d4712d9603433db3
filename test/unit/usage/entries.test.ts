import { describe, expect, test } from "vitest";
import type { TurnUse } from "../../../packages/gateway/src/runtimes/types.ts";
import { COST_PARTS, countUse } from "../../../packages/gateway/src/usage/entries.ts";

const use = (model: string | undefined, inputTokens: number, more: object = {}) => ({
  model,
  inputTokens,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  ...more,
});
const million = 1e6;
function count(
  used: TurnUse | undefined,
  { currency = "USD", prices = {}, model = "m", chars = { told: 0, said: 0 } } = {},
) {
  const turn = {
    requestId: "r",
    agentId: "a",
    keyId: null,
    chatId: "api-me",
    session: "s",
    model,
    used,
    chars,
  };
  return countUse(turn, { currency, prices }).map(({ cost, ...entry }) => ({
    ...entry,
    cost: cost / COST_PARTS,
  }));
}

describe("what a turn costs", () => {
  test("is its tokens' configured price, of several the longest match, over the built-in one [USE-10]", () => {
    const prices = {
      "*": { input: 1, output: 1 },
      "m*": { input: 2, output: 1 },
      "mo*": { input: 3, output: 10, cacheRead: 0.5, cacheWrite: 4 },
      mod: { input: 5, output: 1 },
      "gpt-4o*": { input: 9, output: 1 },
    };
    const cost = (model: string, more = {}) =>
      count({ models: [use(model, million, { cost: 77, ...more })] }, { prices })[0]?.cost;
    expect([cost("x"), cost("m"), cost("model"), cost("mod"), cost("gpt-4o-mini")]).toEqual([1, 2, 3, 5, 9]);
    const tokens = { outputTokens: million, cacheReadTokens: million, cacheWriteTokens: million };
    expect(cost("model", tokens)).toBe(3 + 10 + 0.5 + 4);
    expect(cost("mod", tokens)).toBe(5 + 1 + 5 + 5);
  });

  test("is the built-in price, else what the runtime reports, else missing [USE-10]", () => {
    expect(count({ models: [use("gpt-4o-mini-2024-07-18", million)] })).toMatchObject([
      { cost: 0.15, unpriced: false },
    ]);
    expect(count({ models: [use("x", 5, { cost: 0.25 })] })).toMatchObject([{ cost: 0.25, unpriced: false }]);
    expect(count({ models: [use("x", 5)] })).toMatchObject([{ cost: 0, unpriced: true }]);
    expect(count({ models: [use("x", 5)], cost: 0.25 })).toMatchObject([{ cost: 0.25, unpriced: false }]);
    expect(count({ models: [use("x", 0)] })).toMatchObject([{ cost: 0, unpriced: false }]);
  });

  test("is in the configured currency: amounts in US dollars do not stand in for others [USE-10]", () => {
    const reported = { models: [use("gpt-4o", million, { cost: 1 })] };
    expect(count(reported, { currency: "EUR" })).toMatchObject([{ cost: 0, unpriced: true }]);
    const prices = { "gpt-4o": { input: 2, output: 1 } };
    expect(count(reported, { currency: "EUR", prices })).toMatchObject([{ cost: 2, unpriced: false }]);
  });
});

test("a turn of several models counts once, for the model that answered", () => {
  const models = [use("small", 5, { cost: 1 }), use("m", 7), use("small", 6, { cost: 2 })];
  expect(count({ models })).toMatchObject([
    { model: "m", turns: 1, inputTokens: 7, unpriced: true },
    { model: "small", turns: 0, inputTokens: 11, cost: 3 },
  ]);
});

test("without a report, four characters are a token, and that is said [USE-4]", () => {
  const chars = { told: 9, said: 4 };
  expect(count(undefined, { chars })).toMatchObject([
    { model: "m", turns: 1, inputTokens: 3, outputTokens: 1, estimated: true, unpriced: true },
  ]);
  // An amount that was reported stands over a price of estimated tokens.
  const prices = { m: { input: 100, output: 100 } };
  expect(count({ models: [], cost: 0.5 }, { chars, prices })).toMatchObject([{ cost: 0.5, estimated: true }]);
  expect(count(undefined)).toMatchObject([{ turns: 1, inputTokens: 0, estimated: false, unpriced: false }]);
});
