import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseForEdit, stringifyLike } from "../../../packages/gateway/src/config/edit.ts";

const object = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 6 });

describe("edits of the file", () => {
  it("write back the same text, indentation and line ends when nothing changes [CONF-7]", () => {
    const indents = fc.constantFrom("  ", "    ", "\t", "");
    fc.assert(
      fc.property(object, indents, fc.boolean(), fc.boolean(), (value, indent, crlf, end) => {
        const text = JSON.stringify(value, null, indent) + (end ? "\n" : "");
        const file = crlf ? text.replaceAll("\n", "\r\n") : text;
        expect(stringifyLike(parseForEdit(file), file)).toBe(file);
      }),
    );
  });

  it("keep unknown keys and the order of keys when one changes [CONF-3, CONF-7]", () => {
    fc.assert(
      fc.property(object, fc.jsonValue(), (value, added) => {
        const file = JSON.stringify(value, null, 2);
        const raw = parseForEdit(file);
        raw["added key"] = added;
        const back = JSON.parse(stringifyLike(raw, file)) as Record<string, unknown>;
        expect(JSON.stringify(back)).toBe(JSON.stringify({ ...JSON.parse(file), "added key": added }));
      }),
    );
  });

  it("keep whole numbers that JavaScript cannot hold", () => {
    const file = '{\n  "unknown": {\n    "guild": 123456789012345678901\n  }\n}';
    expect(stringifyLike(parseForEdit(file), file)).toBe(file);
  });

  it.each([
    ["one line", '{"a":1}', '{"a":1,"b":2}'],
    ["one line and its end", '{"a":1}\n', '{"a":1,"b":2}\n'],
    ["empty lines around", '\n\n{\n\t"a": 1\n}\n\n', '{\n\t"a": 1,\n\t"b": 2\n}\n'],
    ["a byte order mark", '\uFEFF{\n   "a": 1\n}', '{\n   "a": 1,\n   "b": 2\n}'],
    ["spaces after the bracket", '{  \n    "a": 1\n}', '{\n    "a": 1,\n    "b": 2\n}'],
    [
      "no indentation to see",
      '{"a": 1,\n      "c": [\n1]}',
      '{\n  "a": 1,\n  "c": [\n    1\n  ],\n  "b": 2\n}',
    ],
    ["line ends of Windows", '{\r\n "a": 1\r\n}\r\n', '{\r\n "a": 1,\r\n "b": 2\r\n}\r\n'],
  ])("are written like the rest of the file: %s", (_, before, after) => {
    expect(stringifyLike(Object.assign(parseForEdit(before), { b: 2 }), before)).toBe(after);
  });

  it("keep the value of fractions and of numbers that JavaScript can hold", () => {
    expect(parseForEdit('{"a":1.5,"b":9007199254740991,"c":1e400,"d":"1e400"}')).toEqual({
      a: 1.5,
      b: 9_007_199_254_740_991,
      c: Number.POSITIVE_INFINITY,
      d: "1e400",
    });
  });

  it("ignore a byte order mark", () => {
    expect(parseForEdit('\uFEFF{"a":1}')).toEqual({ a: 1 });
  });
});
