import { describe, expect, it } from "vitest";
import { parseConfig } from "../../../packages/gateway/src/config/parse.ts";

const lines = (count: number, text: string) => `{\n${'  "a": "0123456789",\n'.repeat(count)}${text}`;

function messageOf(text: string): string {
  const parsed = parseConfig(text);
  if ("raw" in parsed) throw new Error("it was taken");
  expect(parsed.problems).toMatchObject([{ level: "error", path: "" }]);
  return parsed.problems[0]!.message;
}

describe("the text of the file", () => {
  it("may begin with a byte order mark", () => {
    expect(parseConfig('\uFEFF{"a":1}')).toEqual({ raw: { a: 1 } });
    expect(messageOf('{"a":\uFEFF1}')).toMatch(/not valid JSON/);
  });

  it.each(["[]", "null", "7", '"x"', "true"])("must be one JSON object: %s", (text) => {
    expect(messageOf(text)).toBe("the file must contain one JSON object");
  });

  it("names the line of a mistake, also where JSON.parse quotes the text instead of telling it", () => {
    expect(messageOf(lines(3, '  "b": x\n}'))).toMatch(/^the file is not valid JSON: .* \(near line 5\)$/);
    expect(messageOf(lines(7, '  "b": oops, "c": 123456789\n}'))).toMatch(/\(near line 9\)$/);
    expect(messageOf("x")).toMatch(/\(near line 1\)$/);
    expect(messageOf(lines(2, '  "b": 1,\n}'))).toMatch(/\(line 5\)$/);
    expect(messageOf(lines(2, '  "b": 1 "c": 2\n}'))).toMatch(/\(line 4\)$/);
    expect(messageOf("{\n\n")).toMatch(/line 3\)$/);
  });

  it.each([
    '{"key": hunter2-very-secret}',
    '{"key": hunter2-very-secret, "other": 1234567890, "more": 1234567890}',
    '{"more": 1234567890, "other": 1234567890, "key": hunter2-very-secret',
    '{"key": "hunter2-very-secret" "x"}',
    '{"key": "hunter2-very-secret',
    '{"key": "hunter2\n-very-secret"}',
    '{"key": "hunter2-very-secret\\q"}',
    "hunter2-very-secret",
    "{hunter2-very-secret}",
    '["hunter2", oops "very-secret"]',
  ])("is never quoted, because it may contain a secret: %j", (text) => {
    const message = messageOf(text);
    expect(message).toMatch(/^the file is not valid JSON: \S/);
    for (const piece of ["hunter", "unter2", "very", "secre", "other", "more", "key"])
      expect(message).not.toContain(piece);
  });
});
