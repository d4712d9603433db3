import fc from "fast-check";
import { expect, test } from "vitest";
import { hasMoreValues } from "../../../packages/gateway/src/lib/json-values.ts";
import { createLineSplitter } from "../../../packages/gateway/src/lib/jsonl.ts";

/** Every value but the first follows a comma or an opening bracket; an empty list has a bracket without a value. */
function marks(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value);
  return 1 + Math.max(0, inner.length - 1) + inner.reduce((sum: number, one) => sum + marks(one), 0);
}

test("values are counted outside of strings alone [HARD-AGENT-12]", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const padded = [value, '[{,\\"'.repeat(500)];
      const json = JSON.stringify(padded);
      const count = marks(JSON.parse(json));
      fc.pre(json.length >= 2 * count);
      expect(hasMoreValues(json, count)).toBe(false);
      expect(hasMoreValues(json, count - 1)).toBe(true);
    }),
  );
});

test("a long text is one value, and a line of too many is skipped and told [HARD-AGENT-12]", () => {
  const lines: number[] = [];
  let skipped = 0;
  const splitter = createLineSplitter((line) => lines.push(line.length), { onOverflow: () => skipped++ });
  splitter.push(Buffer.from(`${JSON.stringify({ text: '{"a":[1,2]},'.repeat(400_000) })}\n`));
  expect(lines).toHaveLength(1);
  splitter.push(Buffer.from(`[${"{},".repeat(600_000)}{}]\n`));
  expect(lines).toHaveLength(1);
  expect(skipped).toBe(1);
});
