import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fileName, oneLine } from "../../../packages/gateway/src/lib/one-line.ts";

const HARMFUL = /[\p{Cc}\p{Cs}\u2028\u2029\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;

describe("text from outside as one line", () => {
  it("has no control characters, line breaks or bidirectional overrides, and at most so many characters [CH-FILES-1]", () => {
    expect(oneLine("Ann\nadmin:\u202e gnp\u0000 \u2066x", 64)).toBe("Ann admin: gnp x");
    expect(oneLine("👩‍👩‍👧 Müller", 64)).toBe("👩‍👩‍👧 Müller");
    expect(oneLine("😀".repeat(100), 64)).toBe("😀".repeat(64));
    for (const nothing of ["", " \n\t", "\u202e", undefined, 7, {}])
      expect(oneLine(nothing, 64)).toBeUndefined();
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        const line = oneLine(text, 64);
        if (line === undefined) return;
        expect(line).not.toMatch(HARMFUL);
        expect([...line].length).toBeLessThanOrEqual(64);
        expect(line).toBe(line.trim());
      }),
    );
  });
});

describe("the name of a file from outside", () => {
  it("is its last part alone, without anything that harms, and keeps its extension [CH-FILES-2]", () => {
    expect(fileName("../../etc/passwd")).toBe("passwd");
    expect(fileName("C:\\Users\\me\\bill.pdf")).toBe("bill.pdf");
    expect(fileName('a<b>"c|d?.txt')).toBe("a_b__c_d_.txt");
    expect(fileName("invoice\u202efdp.exe")).toBe("invoice fdp.exe");
    expect(fileName(`${"long ".repeat(60)}.docx`)).toMatch(/^long .*…g long .*\.docx$/);
    for (const nothing of ["", "/", "..", "a/", "\u0000", undefined])
      expect(fileName(nothing)).toBeUndefined();
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        const name = fileName(text);
        if (name === undefined) return;
        expect(name).not.toMatch(HARMFUL);
        expect(name).not.toMatch(/[/\\<>]/);
        expect([...name].length).toBeLessThanOrEqual(128);
      }),
    );
  });
});
