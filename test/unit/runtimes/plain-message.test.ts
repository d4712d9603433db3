import { describe, expect, test } from "vitest";
import { safeSentence } from "../../../packages/gateway/src/runtimes/agent-cli/safe-sentence.ts";
import { plainMessage } from "../../../packages/gateway/src/runtimes/plain-message.ts";

describe("an error is told in words", () => {
  const inner = { error: { code: 401, message: "API key not valid.", status: "UNAUTHENTICATED" } };

  test.each([
    ["plain words", "plain words"],
    [JSON.stringify(inner), "API key not valid."],
    [`API Error: 401 ${JSON.stringify(inner)}`, "API Error: 401 API key not valid."],
    [JSON.stringify([inner]), "API key not valid."],
    [JSON.stringify({ error: { message: JSON.stringify(inner) } }), "API key not valid."],
    [JSON.stringify({ error: "no credit" }), "no credit"],
    ["Unexpected token { in JSON", "Unexpected token { in JSON"],
    ['{"request_id":"x"}', '{"request_id":"x"}'],
    ["set [a] or {b}", "set [a] or {b}"],
  ])("%j", (reported, words) => {
    expect(plainMessage(reported)).toBe(words);
  });

  test("also one that is wrapped without end, or a megabyte long", () => {
    let wrapped = "core";
    for (let depth = 0; depth < 10; depth++) wrapped = JSON.stringify({ message: wrapped });
    expect(plainMessage(wrapped).length).toBeLessThan(wrapped.length);
    expect(safeSentence("[".repeat(1_000_000), "x").length).toBeLessThanOrEqual(500);
  });
});
