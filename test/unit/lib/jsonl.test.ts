import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLineSplitter } from "../../../packages/gateway/src/lib/jsonl.ts";

/** Feeds `bytes` in pieces of the given sizes, taken in turns. */
function split(bytes: Buffer, sizes: readonly number[], maxBytes?: number) {
  const lines: string[] = [];
  let overflows = 0;
  const splitter = createLineSplitter((line) => lines.push(line), {
    ...(maxBytes === undefined ? {} : { maxBytes }),
    onOverflow: () => overflows++,
  });
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length] ?? 1;
    splitter.push(bytes.subarray(at, at + size));
    at += size;
  }
  splitter.end();
  return { lines, overflows };
}

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 });
const words = fc.array(
  fc.string({ unit: "grapheme", maxLength: 12 }).map((text) => text.replaceAll(/[\r\n]/g, "")),
);

describe("lines of an agent program", () => {
  test("any text split anywhere, also inside a character, gives the same lines", () => {
    fc.assert(
      fc.property(
        words,
        sizes,
        fc.constantFrom("\n", "\r\n"),
        fc.boolean(),
        (texts, pieces, ending, closed) => {
          const bytes = Buffer.from(texts.join(ending) + (closed ? ending : ""));
          expect(split(bytes, pieces).lines).toEqual(texts.filter((text) => text !== ""));
        },
      ),
    );
  });

  test("a line that is too long is reported once and skipped, and its neighbours pass", () => {
    fc.assert(
      fc.property(sizes, fc.integer({ min: 12, max: 60 }), (pieces, length) => {
        const bytes = Buffer.from(`before\n${"x".repeat(length)}\nafter\n`);
        expect(split(bytes, pieces, 10)).toEqual({ lines: ["before", "after"], overflows: 1 });
      }),
    );
  });

  test("a line of exactly the limit passes, with LF and with CRLF", () => {
    for (const ending of ["\n", "\r\n"]) {
      for (const size of [1, 4, 100]) {
        expect(split(Buffer.from(`0123456789${ending}`), [size], 10)).toEqual({
          lines: ["0123456789"],
          overflows: 0,
        });
      }
    }
  });

  test("a line of 32 MiB in pieces of 64 KiB is joined in linear time", () => {
    const bytes = Buffer.alloc(32 * 1024 * 1024, "é");
    const started = performance.now();
    const { lines } = split(Buffer.concat([bytes, Buffer.from("\n")]), [65_536]);
    expect(lines[0]?.length).toBe(16 * 1024 * 1024);
    // A splitter that joins at every piece copies 8 GB for this, which takes far longer.
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
