import { stat } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editDotenv, parseDotenv } from "../../../packages/gateway/src/config/dotenv.ts";
import { readDotenv, writeDotenv } from "../../../packages/gateway/src/config/index.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";

const name = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,12}$/);
const line = fc.string({ unit: "binary" }).map((text) => text.replace(/[\r\n]/g, ""));

describe(".env files", () => {
  it("read KEY=value lines, ignore # comments and blank lines, strip surrounding quotes", () => {
    const text = `\uFEFF# a comment\n\nA=1\r\n B = two words \nC="quoted # kept"\nD='single'\nexport E=e\nF=a=b\nG=\n# H=1\nnonsense\nI="half`;
    expect(parseDotenv(text)).toEqual({
      A: "1",
      B: "two words",
      C: "quoted # kept",
      D: "single",
      E: "e",
      F: "a=b",
      G: "",
      I: '"half',
    });
  });

  it("give back any one-line value that was written", () => {
    fc.assert(
      fc.property(name, line, fc.string(), (key, value, before) => {
        expect(parseDotenv(editDotenv(before, key, value))[key]).toBe(value);
      }),
    );
  });

  it("keep every other line when one key changes", () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 2, maxLength: 6 }), line, (names, value) => {
        const text = names.map((key, index) => `# about ${key}\n${key}=${index}`).join("\n\n");
        const edited = editDotenv(text, names[0]!, value);
        for (const [index, key] of names.entries()) {
          expect(edited).toContain(`# about ${key}`);
          if (index > 0) expect(parseDotenv(edited)[key]).toBe(String(index));
        }
      }),
    );
  });

  it("lose a key that is set to null, and refuse what is not one line", () => {
    expect(editDotenv("A=1\nB=2\nA=3\n", "A", null)).toBe("B=2\n");
    expect(() => editDotenv("", "A", "x\ny")).toThrow(TypeError);
    expect(() => editDotenv("", "A B", "x")).toThrow(TypeError);
  });

  it("are written with mode 0600 and without losing writes that come at once", async () => {
    const file = join(await tempFolder(), ".env");
    await Promise.all(Array.from({ length: 20 }, (_, index) => writeDotenv(file, `K${index}`, `v${index}`)));
    expect(Object.keys(await readDotenv(file))).toHaveLength(20);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });
});
