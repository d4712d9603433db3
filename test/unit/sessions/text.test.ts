import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCommand } from "../../../packages/gateway/src/sessions/commands.ts";
import { nameFrom, PLACEHOLDER_NAME } from "../../../packages/gateway/src/sessions/names.ts";

describe("slash commands", () => {
  it("are case-insensitive and take an argument", () => {
    expect(parseCommand("/Model  Sonnet ")).toEqual({ name: "/model", argument: "Sonnet" });
    expect(parseCommand("/STOP")).toEqual({ name: "/stop", argument: "" });
  });
  it("an unknown word is refused with the list of commands", () => {
    expect(() => parseCommand("/nope")).toThrow(/\/session, \/clear, \/compact, \/stop, \/restart, \/model/);
  });
  it("paths and other text that merely starts with a slash are messages", () => {
    for (const text of ["/etc/passwd", "/usr/bin/x y", "/ hello", "/1", "//", "/", "hello /stop", "/-x"]) {
      expect(parseCommand(text)).toBeUndefined();
    }
  });
  it("never fails in another way", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parseCommand(`/${text}`);
        } catch (error) {
          expect((error as { code: string }).code).toBe("UNKNOWN_COMMAND");
        }
      }),
    );
  });
});

describe("session names", () => {
  it("come from the first line, cut between words", () => {
    expect(nameFrom("\n  Plan a   trip\nto Rome")).toBe("Plan a trip");
    const name = nameFrom("word ".repeat(40));
    expect(name.length).toBeLessThanOrEqual(61);
    expect(name.endsWith("word…")).toBe(true);
  });
  it("are without the marks of a heading, a quotation or a list, unless nothing else is there", () => {
    expect(nameFrom("## Plan\nmore")).toBe("Plan");
    expect(nameFrom("> - * quoted")).toBe("quoted");
    expect(nameFrom("---")).toBe("---");
    expect(nameFrom("# #")).toBe("# #");
  });
  it("are cut inside a word only where that is longer than half a name", () => {
    const word = "x".repeat(100);
    expect(nameFrom(word)).toBe(`${"x".repeat(60)}…`);
    expect(nameFrom(`short ${word}`)).toBe(`short ${"x".repeat(54)}…`);
    expect(nameFrom(`${"a".repeat(31)} ${word}`)).toBe(`${"a".repeat(31)}…`);
    expect(nameFrom("x".repeat(60))).toBe("x".repeat(60));
    expect(nameFrom("😀".repeat(61))).toBe(`${"😀".repeat(60)}…`);
  });
  it("are never empty, whatever the prompt", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const name = nameFrom(text);
        expect(name.trim()).not.toBe("");
        expect([...name].length).toBeLessThanOrEqual(61);
      }),
    );
    expect(nameFrom(" \n\t ")).toBe(PLACEHOLDER_NAME);
  });
});
