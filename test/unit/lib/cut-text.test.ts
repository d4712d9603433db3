import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutToBytes } from "../../../packages/gateway/src/lib/cut-text.ts";

describe("a text cut to a number of bytes", () => {
  it("is its longest beginning of whole characters that fits [STEP-2]", () => {
    expect(cutToBytes("abc", 2)).toBe("ab");
    expect(cutToBytes("aกb", 3)).toBe("a");
    expect(cutToBytes("aกb", 4)).toBe("aก");
    expect(cutToBytes("🎉🎉", 4)).toBe("🎉");
    expect(cutToBytes("x🎉", 4)).toBe("x");
    expect(cutToBytes("x🎉🎉", 2)).toBe("x");
    expect(cutToBytes("", 4)).toBe("");
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), fc.nat(60), (text, max) => {
        const cut = cutToBytes(text, max);
        expect(text.startsWith(cut)).toBe(true);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max);
        const next = [...text.slice(cut.length)][0];
        if (next !== undefined) expect(Buffer.byteLength(cut + next)).toBeGreaterThan(max);
      }),
    );
  });
});
