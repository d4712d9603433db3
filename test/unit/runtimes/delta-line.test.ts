import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readDeltaLine } from "../../../packages/gateway/src/runtimes/agent-cli/delta-line.ts";

const line = (text: string, index = 0, extra: object = {}) =>
  JSON.stringify({
    type: "stream_event",
    event: { type: "content_block_delta", index, delta: { type: "text_delta", text } },
    session_id: "0b0b",
    parent_tool_use_id: null,
    uuid: "1c1c",
    ...extra,
  });

describe("the short way to a text delta", () => {
  it("reads any text as JSON does", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat({ max: 9999 }), (text, index) => {
        expect(readDeltaLine(line(text, index))).toBe(JSON.parse(JSON.stringify(text)));
      }),
    );
    for (const text of ['"', "\\", '\\"', '"}}', 'a","parent_tool_use_id":"x', "\n", "\u2028"]) {
      expect(readDeltaLine(line(text))).toBe(text);
    }
  });

  it("leaves every other line alone", () => {
    const subagent = line("x").replace('"parent_tool_use_id":null', '"parent_tool_use_id":"toolu_1"');
    const others = [
      subagent,
      line("x", 0, { more: { parent_tool_use_id: "t" } }),
      line("x").replace("text_delta", "thinking_delta"),
      line("x").slice(0, -1),
      `${line("x")} `,
      line("x").replace('"x"', '"x\u0001"'),
      line("x").replace('"x"', '"\\q"'),
      "",
      "{}",
    ];
    for (const other of others) expect(readDeltaLine(other)).toBeUndefined();
  });

  it("never takes what JSON would read otherwise", () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), (noise, at) => {
        const whole = line("some text");
        const cut = at % whole.length;
        const changed = whole.slice(0, cut) + noise + whole.slice(cut);
        const text = readDeltaLine(changed);
        if (text !== undefined) expect(JSON.parse(changed).event.delta.text).toBe(text);
      }),
    );
  });
});
