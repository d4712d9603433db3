import fc from "fast-check";
import { expect, it } from "vitest";
import { growingText } from "../../../packages/gateway/src/lib/growing-text.ts";

it("is all its pieces in order, whenever it is read", () => {
  const pieces = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.constant("x".repeat(50))), {
    maxLength: 1500,
  });
  fc.assert(
    fc.property(fc.string(), pieces, fc.integer({ min: 50, max: 700 }), (start, given, every) => {
      const text = growingText(start);
      let expected = start;
      given.forEach((piece, index) => {
        text.add(piece);
        expected += piece;
        if (index % every > 0) return;
        expect(text.length).toBe(expected.length);
        expect(text.toString()).toBe(expected);
      });
      expect(text.toString()).toBe(expected);
    }),
    { numRuns: 20 },
  );
});
