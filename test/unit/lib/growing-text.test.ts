import fc from "fast-check";
import { expect, it } from "vitest";
import { growingText } from "../../../packages/gateway/src/lib/growing-text.ts";

it("is all its pieces in order, whenever it is read", () => {
  const words = fc.array(fc.oneof(fc.string(), fc.constantFrom("", "é", "日本", "🙂")), {
    minLength: 1,
    maxLength: 10,
  });
  const read = fc.integer({ min: 1, max: 700 });
  fc.assert(
    fc.property(fc.string(), words, read, (start, given, every) => {
      const text = growingText(start);
      let expected = start;
      for (let added = 1; added <= 1200; added++) {
        const piece = given[added % given.length]!;
        text.add(piece);
        expected += piece;
        if (added % every === 0 && text.toString() !== expected) throw new Error(`differs after ${added}`);
      }
      expect(text.length).toBe(expected.length);
      expect(text.toString()).toBe(expected);
    }),
    { numRuns: 30 },
  );
});
