import { execFile } from "node:child_process";
import { readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editDotenv, parseDotenv } from "../../../packages/gateway/src/config/dotenv.ts";
import { changeDotenv, readDotenv, writeDotenv } from "../../../packages/gateway/src/config/index.ts";
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

  it("give back values with separators of lines that only Unicode knows, and replace them", () => {
    for (const separator of ["\u2028", "\u2029", "\u0085", "\v", "\f"]) {
      const text = editDotenv("A=0\n", "A", `x${separator}y`);
      expect(parseDotenv(text)).toEqual({ A: `x${separator}y` });
      expect(editDotenv(text, "A", "z")).toBe("A=z\n");
    }
  });

  it("take a quote at one end only, or alone, for a part of the value", () => {
    expect(parseDotenv(`A="\nB='\nC="x'\nD=x"\nE=""\nF="x`)).toEqual({
      A: '"',
      B: "'",
      C: `"x'`,
      D: 'x"',
      E: "",
      F: '"x',
    });
  });

  it("have quotes only around a value that would not be read back without them", () => {
    expect(editDotenv("", "A", "two words")).toBe("A=two words\n");
    expect(editDotenv("", "A", " x")).toBe('A=" x"\n');
    expect(editDotenv("", "A", "'x'")).toBe(`A="'x'"\n`);
  });

  it("keep the ends of all other lines, whatever system they come from", () => {
    expect(editDotenv("A=1\r\nB=2\r\n", "C", "3")).toBe("A=1\r\nB=2\r\nC=3\n");
    expect(editDotenv("A=1\r\nB=2", "A", "3")).toBe("B=2\nA=3\n");
    expect(editDotenv("A=1\r\nB=2\r\n", "A", null)).toBe("B=2\r\n");
    expect(editDotenv("A=1\rB=2\rC=3", "A", null)).toBe("B=2\rC=3\n");
    expect(editDotenv("\uFEFFA=1\n\nB=2\n", "A", null)).toBe("\nB=2\n");
    expect(editDotenv("A=1", "A", null)).toBe("");
    expect(editDotenv("", "A", null)).toBe("");
    expect(editDotenv("\n", "A", "1")).toBe("\nA=1\n");
  });

  it("lose a key that is set to null, and refuse what is not one line", () => {
    expect(editDotenv("A=1\nB=2\nA=3\n", "A", null)).toBe("B=2\n");
    expect(() => editDotenv("", "A", "x\ny")).toThrow(TypeError);
    for (const name of ["A B", "1A", "A=", "", "-A"])
      expect(() => editDotenv("", name, "x")).toThrow(TypeError);
    expect(() => editDotenv("", "A", "x\ry")).toThrow(TypeError);
  });

  it("are written with mode 0600 and without losing writes that come at once", async () => {
    const file = join(await tempFolder(), ".env");
    await Promise.all(Array.from({ length: 20 }, (_, index) => writeDotenv(file, `K${index}`, `v${index}`)));
    expect(Object.keys(await readDotenv(file))).toHaveLength(20);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("change several keys at once, by what the file holds at that moment, or not at all", async () => {
    const file = join(await tempFolder(), ".env");
    const counted = Array.from({ length: 20 }, () =>
      changeDotenv(file, (now) => ({ N: `${Number(now.N ?? 0) + 1}`, "WITH-HYPHEN": "{x} ${Y}" })),
    );
    await Promise.all(counted);
    expect(await readDotenv(file)).toEqual({ N: "20", "WITH-HYPHEN": "{x} ${Y}" });
    const before = await stat(file);
    await changeDotenv(file, () => undefined);
    expect((await stat(file)).ino).toBe(before.ino);
    await changeDotenv(file, () => ({ N: null, A: "1" }));
    expect(await readFile(file, "utf8")).toBe("WITH-HYPHEN={x} ${Y}\nA=1\n");
    await expect(changeDotenv(file, () => ({ A: null, B: "x\ny" }))).rejects.toThrow(TypeError);
    // It could not be read again.
    await expect(changeDotenv(file, () => ({ A: "x".repeat(4 * 1024 * 1024) }))).rejects.toThrow(RangeError);
    expect(await readFile(file, "utf8")).toBe("WITH-HYPHEN={x} ${Y}\nA=1\n");
  });

  it("become their owner's alone when they are written, and are not written over when they cannot be read", async () => {
    const folder = await tempFolder();
    const open = join(folder, "open.env");
    await writeFile(open, "A=1\n", { mode: 0o644 });
    await writeDotenv(open, "B", "2");
    expect((await stat(open)).mode & 0o777).toBe(0o600);
    expect(await readFile(open, "utf8")).toBe("A=1\nB=2\n");
    const huge = join(folder, "huge.env");
    await writeFile(huge, "");
    await truncate(huge, 4 * 1024 * 1024 + 1);
    await expect(writeDotenv(huge, "B", "2")).rejects.toThrow();
    expect((await stat(huge)).size).toBe(4 * 1024 * 1024 + 1);
    expect(await readDotenv(huge)).toEqual({});
    const pipe = join(folder, "pipe.env");
    await promisify(execFile)("mkfifo", [pipe]);
    await expect(writeDotenv(pipe, "B", "2")).rejects.toThrow("the path is refused");
    expect((await stat(pipe)).isFIFO()).toBe(true);
    expect(await readDotenv(join(folder, "none.env"))).toEqual({});
  });
});
