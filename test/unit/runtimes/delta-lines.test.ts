import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLineSplitter } from "../../../packages/gateway/src/lib/jsonl.ts";
import { createDeltaReader } from "../../../packages/gateway/src/runtimes/agent-cli/delta-lines.ts";

const line = (text: string, index = 0, extra: object = {}) =>
  JSON.stringify({
    type: "stream_event",
    event: { type: "content_block_delta", index, delta: { type: "text_delta", text } },
    session_id: "0b0b",
    parent_tool_use_id: null,
    uuid: "1c1c",
    ...extra,
  });

/** The text of a line by the short way; undefined when it leaves the line alone. */
function readLine(text: string): string | undefined {
  const bytes = Buffer.from(`${text}\n`);
  const texts: string[] = [];
  const end = createDeltaReader((found) => texts.push(found))(bytes, 0);
  expect(end).toBe(texts.length === 0 ? 0 : bytes.length);
  return texts[0];
}

/** Every line that comes in these pieces, in order; those that were read the short way as their text alone. */
function readAll(pieces: readonly Buffer[]) {
  const seen: Array<{ text: string } | { line: string }> = [];
  const splitter = createLineSplitter((other) => seen.push({ line: other }), {
    takeBytes: createDeltaReader((text) => seen.push({ text })),
  });
  for (const piece of pieces) splitter.push(piece);
  splitter.end();
  return seen;
}
const textOf = (one: { text: string } | { line: string }): unknown =>
  "text" in one ? one.text : JSON.parse(one.line).event?.delta?.text;

describe("the short way to text deltas", () => {
  it("reads any text as JSON does", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat({ max: 9999 }), (text, index) => {
        expect(readLine(line(text, index))).toBe(JSON.parse(JSON.stringify(text)));
      }),
    );
    for (const text of [
      '"',
      "\\",
      '\\"',
      '"}}',
      'a","parent_tool_use_id":"x',
      "\n",
      "\u2028",
      "\u007f",
      "é",
    ]) {
      expect(readLine(line(text))).toBe(text);
    }
  });

  it("leaves every other line alone", () => {
    const subagent = line("x").replace('"parent_tool_use_id":null', '"parent_tool_use_id":"toolu_1"');
    const others = [
      subagent,
      line("x", 0, { more: { parent_tool_use_id: "t" } }),
      line("x").replace("text_delta", "thinking_delta"),
      line("x").replace("content_block_delta", "content_block_start"),
      line("x").slice(0, -1),
      `${line("x")} `,
      line("x").replace('"x"', '"x\u0001"'),
      line("x").replace('"x"', '"x\u0000"'),
      line("x").replace('"x"', '"\\q"'),
      line("x").replace('"x"', '"\\'),
      line("x").replace('"index":0', '"index":01'),
      line("x").replace('"index":0', '"index":'),
      line("x", 10_000),
      "",
      "{}",
    ];
    for (const other of others) expect(readLine(other)).toBeUndefined();
  });

  it("never takes what JSON would read otherwise, also after a line with the usual end", () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), (noise, at) => {
        const whole = line("some text");
        const cut = at % whole.length;
        const changed = (whole.slice(0, cut) + noise + whole.slice(cut)).replaceAll(/[\r\n]/g, "");
        for (const found of readAll([Buffer.from(`${whole}\n${changed}\n`)])) {
          if ("text" in found && found.text !== "some text")
            expect(JSON.parse(changed).event.delta.text).toBe(found.text);
        }
      }),
    );
  });

  it("reads the same lines however they arrive, and in their order", () => {
    const other = fc.constantFrom('{"type":"system"}', "no JSON", '{"type":"stream_event","event":{}}');
    const delta = fc
      .tuple(
        fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ minLength: 12, maxLength: 40 })),
        fc.nat({ max: 12 }),
        fc.uuid(),
      )
      .map(([text, index, uuid]) => line(text, index, { uuid }));
    fc.assert(
      fc.property(
        fc.array(fc.oneof({ arbitrary: delta, weight: 4 }, other), { maxLength: 60 }),
        fc.constantFrom("\n", "\r\n"),
        fc.array(fc.integer({ min: 1, max: 6000 }), { minLength: 1, maxLength: 20 }),
        (lines, ending, sizes) => {
          const bytes = Buffer.from(lines.map((one) => one + ending).join(""));
          const pieces: Buffer[] = [];
          for (let at = 0, n = 0; at < bytes.length; n++) {
            const size = sizes[n % sizes.length]!;
            pieces.push(bytes.subarray(at, at + size));
            at += size;
          }
          const texts = readAll(pieces).map((one) =>
            "line" in one && !one.line.startsWith('{"type":"stream_event","event":{"type"')
              ? one.line
              : textOf(one),
          );
          expect(texts).toEqual(
            lines.map((one) => (one.includes("text_delta") ? JSON.parse(one).event.delta.text : one)),
          );
          // All whole lines of one piece go the short way.
          const whole = readAll([bytes]).filter((one) => "line" in one);
          expect(whole.length).toBe(lines.filter((one) => !one.includes("text_delta")).length);
        },
      ),
    );
  });

  it("reads texts that are longer than what is decoded at once", () => {
    const texts = [
      "a".repeat(3000),
      "b".repeat(3000),
      "c".repeat(9000),
      "ก".repeat(4000),
      "d",
      "e".repeat(20),
    ];
    const bytes = Buffer.from(texts.map((text) => `${line(text)}\n`).join(""));
    expect(readAll([bytes])).toEqual(texts.map((text) => ({ text })));
  });
});
