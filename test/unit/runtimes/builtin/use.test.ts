import { expect, test } from "vitest";
import { useOf } from "../../../../packages/gateway/src/runtimes/builtin/agent/use.ts";

test("what a model call used is told apart from what came from the provider's cache [USE-3]", () => {
  const usage = {
    inputTokens: 100,
    inputTokenDetails: { noCacheTokens: 60, cacheReadTokens: 30, cacheWriteTokens: 10 },
    outputTokens: 7,
  };
  const use = { model: "m", inputTokens: 60, outputTokens: 7, cacheReadTokens: 30, cacheWriteTokens: 10 };
  expect(useOf("m", usage)).toEqual(use);
  const { noCacheTokens: _, ...details } = usage.inputTokenDetails;
  expect(useOf("m", { ...usage, inputTokenDetails: details })).toEqual(use);
  expect(useOf("m", { inputTokens: 5, outputTokens: undefined })).toMatchObject({ inputTokens: 5 });
  expect(useOf("m", { inputTokens: undefined, outputTokens: Number.NaN })).toBeUndefined();
});
