import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./harness.ts";
import { requirements } from "./requirements.ts";

/** Ids at the end of titles, by the files that have them. */
async function citations(): Promise<Map<string, string[]>> {
  const cited = new Map<string, string[]>();
  const files = await readdir(join(root, "test"), { recursive: true });
  for (const file of files.filter((name) => name.endsWith(".test.ts") && !name.includes("node_modules"))) {
    const text = await readFile(join(root, "test", file), "utf8");
    for (const [, list] of text.matchAll(/\[((?:[A-Z]+(?:-[A-Z]+)*-\d+(?:, )?)+)\](?=["'`]| \[[A-Z])/g)) {
      for (const id of list!.split(", ")) cited.set(id, [...(cited.get(id) ?? []), file]);
    }
  }
  return cited;
}

describe("requirements", () => {
  it("are each cited by a test", async () => {
    const cited = await citations();
    expect(Object.keys(requirements).filter((id) => !cited.has(id))).toEqual([]);
  });

  it("are the only ids that tests cite", async () => {
    const cited = await citations();
    expect([...cited.keys()].filter((id) => !(id in requirements))).toEqual([]);
  });
});
