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

  it("ignore a byte order mark", () => {
    expect(parseForEdit('\uFEFF{"a":1}')).toEqual({ a: 1 });
  });
});
