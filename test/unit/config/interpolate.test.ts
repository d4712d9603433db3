import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasVariable, interpolate, lookUp } from "../../../packages/gateway/src/config/interpolate.ts";

describe("${VAR}", () => {
  it("is resolved in every string, the strongest source first [CONF-1]", () => {
    const sources = [{ A: "env" }, { A: "agent", B: "agent" }, { A: "home", B: "home", C: "home" }];
    const { value, missing } = interpolate({ a: "x${A}y", list: ["${B}", { c: "${C}${C}" }], n: 1 }, sources);
    expect(value).toEqual({ a: "xenvy", list: ["agent", { c: "homehome" }], n: 1 });
    expect(missing).toEqual([]);
  });

  it("gives way to a later source when it is empty, and is empty when all are", () => {
    expect(lookUp("A", [{ A: "" }, { A: "file" }])).toBe("file");
    expect(lookUp("A", [{ A: "" }, {}])).toBe("");
    expect(lookUp("A", [{}])).toBeUndefined();
  });

  it("names what is missing with its place and leaves the value out", () => {
    const { value, missing } = interpolate({ a: { b: ["ok", "${NOPE} ${NOPE2}"] } }, [{}]);
    expect(value).toEqual({ a: { b: ["ok"] } });
    expect(missing).toEqual([
      { name: "NOPE", path: "a.b.1" },
      { name: "NOPE2", path: "a.b.1" },
    ]);
  });

  it("never reads inherited names, and never expands what it put in", () => {
    expect(interpolate("${constructor}${toString}", [{}]).missing).toHaveLength(2);
    expect(interpolate("${A}", [{ A: "${A}$&$1" }]).value).toBe("${A}$&$1");
  });

  it("never throws, never loops, and keeps every value without a variable", () => {
    const source = fc.dictionary(fc.constantFrom("A", "B", "__proto__", "x"), fc.string());
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom("${A}", "${B}x${A}", "${", "${}", "${A", "$${A}}", "${__proto__}"),
    );
    const json = fc
      .jsonValue()
      .chain((value) => fc.record({ value: fc.constant(value), text, list: fc.array(text) }));
    fc.assert(
      fc.property(json, fc.array(source, { maxLength: 3 }), (value, sources) => {
        const plain = JSON.parse(JSON.stringify(value).replaceAll("$", "")) as unknown;
        interpolate(value, sources);
        expect(interpolate(plain, sources).value).toEqual(plain);
      }),
    );
  });

  it("is what has braces around a name, and nothing else", () => {
    for (const text of ["${A}", "x${A}", "${A}x", "${_a1}"]) expect(hasVariable(text)).toBe(true);
    // The look before does not change the next one.
    expect(hasVariable("${A}")).toBe(true);
    for (const text of ["", "A", "$A", "${}", "${A", "${1A}", "${A-B}", "${A:-x}"]) {
      expect(hasVariable(text)).toBe(false);
      expect(interpolate([text], [{ A: "a" }]).value).toEqual([text]);
    }
  });

  it("is left out of the value alone where one of several is missing, and tells what was put in", () => {
    const { value, used, missing } = interpolate({ a: "${A}${NOPE}", b: "${B}", c: null }, [
      { A: "1", B: "" },
    ]);
    expect(value).toEqual({ b: "", c: null });
    expect([...used]).toEqual(["1", ""]);
    expect(missing).toEqual([{ name: "NOPE", path: "a" }]);
    expect(interpolate("${NOPE}", [{}])).toMatchObject({ value: undefined, missing: [{ path: "" }] });
  });

  it("is resolved as deep as any key of the configuration may be, and no deeper", () => {
    const nested = (levels: number) =>
      JSON.parse(`${'{"a":'.repeat(levels)}"\${A}"${"}".repeat(levels)}`) as unknown;
    const inside = (levels: number) => JSON.stringify(interpolate(nested(levels), [{ A: "found" }]).value);
    expect(inside(65)).toContain("found");
    expect(inside(66)).not.toContain("found");
  });

  it("survives JSON that is nested without end", () => {
    const deep = JSON.parse(`${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`) as unknown;
    expect(() => interpolate(deep, [{}])).not.toThrow();
  });
});
