import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readChangelog, releasesBetween } from "../../../packages/gateway/src/packages/changelog.ts";
import { readPacked } from "../../../packages/gateway/src/packages/tarball.ts";
import { ownFolder } from "../../program.ts";

const TEXT = `# Changelog

Words before the first release.

## [Unreleased]
- not yet

## [2.0.0] - 2026-03-04
### Changed
- **all** of it

## v1.10.0 (2026-02-28)
- ten

## [1.9.0](https://example.org/compare/1.8.0...1.9.0) (2026-02-31)
- a day that is none

## 1.2.0-rc.1
## 1.1.0
- eleven\r
- twelve\r

## not 1.0.0
- nobody's

## 1.0.0 - 2025-12-31
`;

describe("a changelog", () => {
  it("is read in each of the usual forms of headings [PKG-11]", () => {
    expect(readChangelog(TEXT)).toEqual([
      { version: "2.0.0", date: "2026-03-04", notes: "### Changed\n- **all** of it" },
      { version: "1.10.0", date: "2026-02-28", notes: "- ten" },
      { version: "1.9.0", date: "2026-02-31", notes: "- a day that is none" },
      { version: "1.2.0-rc.1", date: null, notes: "" },
      { version: "1.1.0", date: null, notes: "- eleven\n- twelve" },
      { version: "1.0.0", date: "2025-12-31", notes: "" },
    ]);
    expect(readChangelog("")).toEqual([]);
    expect(readChangelog("##1.0.0\n## 1.0\n### 1.0.0\n## 1.0.0abc\n## 1.0.0, 1.0.1")).toEqual([]);
  });

  it("is shown between two versions, newest first, the older one left out [PKG-3]", () => {
    const shown = (from: string | null, to: string) =>
      releasesBetween(readChangelog(TEXT).reverse(), from, to).map(({ version }) => version);
    expect(shown("1.1.0", "1.10.0")).toEqual(["1.10.0", "1.9.0", "1.2.0-rc.1"]);
    expect(shown(null, "1.1.0")).toEqual(["1.1.0", "1.0.0"]);
    expect(shown("2.0.0", "2.0.0")).toEqual([]);
  });

  it("is found in what npm packs, and cut at its limit [PKG-3]", async () => {
    const folder = await ownFolder();
    mkdirSync(join(folder, "package/docs"), { recursive: true });
    await writeFile(join(folder, "package/before"), "b".repeat(70_001));
    await writeFile(join(folder, "package/docs/CHANGELOG.md"), "another one");
    await writeFile(join(folder, "package/CHANGELOG.md"), `é${"c".repeat(200_000)}`);
    const pack = (name: string, ...files: string[]) => {
      execFileSync("tar", [
        "-czf",
        join(folder, name),
        "-C",
        folder,
        ...files.map((file) => `package/${file}`),
      ]);
      return join(folder, name);
    };
    const all = pack("all.tgz", "before", "docs/CHANGELOG.md", "CHANGELOG.md");
    expect(await readPacked(all, "CHANGELOG.md", 1_000_000)).toBe(`é${"c".repeat(200_000)}`);
    expect(await readPacked(all, "CHANGELOG.md", 100)).toBe(`é${"c".repeat(98)}`);
    expect(await readPacked(pack("none.tgz", "before", "docs/CHANGELOG.md"), "CHANGELOG.md", 100)).toBeNull();
    await writeFile(join(folder, "package/CHANGELOG.md"), "");
    expect(await readPacked(pack("empty.tgz", "CHANGELOG.md"), "CHANGELOG.md", 100)).toBe("");
    await writeFile(join(folder, "words.tgz"), "not packed");
    await expect(readPacked(join(folder, "words.tgz"), "CHANGELOG.md", 100)).rejects.toThrow();
    await expect(readPacked(join(folder, "missing.tgz"), "CHANGELOG.md", 100)).rejects.toThrow();
  });
});
