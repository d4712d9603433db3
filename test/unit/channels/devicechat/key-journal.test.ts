import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, readFile, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { openKeyJournal as openIn } from "../../../../packages/gateway/src/channels/devicechat/key-journal.ts";
import { openRoot } from "../../../../packages/gateway/src/lib/guarded/folder.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { root } from "../../../harness.ts";

const openKeyJournal = async (path: string) => openIn(await openRoot(dirname(path)), basename(path));
const file = async () => join(await tempFolder(), "keys-journal.jsonl");

test("what was set is there after it is opened again, what was removed is not", async () => {
  const path = await file();
  const journal = await openKeyJournal(path);
  await journal.set([
    ["a", "1"],
    ["b", "2"],
  ]);
  await Promise.all([
    journal.set([["a", "3"]]),
    journal.set([["b", null]]),
    journal.set([["c", "\u2028\n"]]),
  ]);
  await journal.close();
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const again = await openKeyJournal(path);
  expect([again.get("a"), again.get("b"), again.get("c")]).toEqual(["3", undefined, "\u2028\n"]);
  await again.close();
});

test.each(['[["torn', '{"no":"change"}\n[["x","1"]]\n', "[["])(
  "a tail that a crash left (%s) is dropped",
  async (tail) => {
    const path = await file();
    const journal = await openKeyJournal(path);
    await journal.set([["a", "1"]]);
    await journal.close();
    await appendFile(path, tail);
    const again = await openKeyJournal(path);
    expect(again.get("a")).toBe("1");
    await again.set([["b", "2"]]);
    await again.close();
    expect(await readFile(path, "utf8")).toBe('[["a","1"]]\n[["b","2"]]\n');
  },
);

test("the file stays within a few times of what it holds", async () => {
  const path = await file();
  const journal = await openKeyJournal(path);
  const value = "x".repeat(50_000);
  for (let n = 0; n < 100; n++) await journal.set([["session", value + n]]);
  await journal.close();
  expect((await stat(path)).size).toBeLessThan(1_300_000);
  const again = await openKeyJournal(path);
  expect(again.get("session")).toBe(`${value}99`);
  await again.close();
});

test("a folder that is gone refuses the journal", async () => {
  await expect(openKeyJournal(join(await tempFolder(), "none", "keys.jsonl"))).rejects.toThrow();
  const path = await file();
  await writeFile(path, "");
  await (await openKeyJournal(path)).close();
});

test("kill -9 in the middle of writing loses nothing that was stored, and never half of a change", {
  timeout: 60_000,
}, async () => {
  const path = await file();
  let last = -1;
  for (let round = 0; round < 8; round++) {
    const child = spawn(
      process.execPath,
      [join(root, "test/fixtures/journal-writer.mjs"), path, String(last + 1)],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    let out = "";
    const enough = 30 + round * 7;
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk;
      // In the middle of whatever comes next.
      if (out.split("\n").length > enough) child.kill("SIGKILL");
    });
    await once(child, "close");
    const told = Number(out.trim().split("\n").at(-1));
    const journal = await openKeyJournal(path);
    for (let n = Math.max(0, told - 18); n <= told; n++) {
      expect(journal.get(`a/${n}`)).toMatch(new RegExp(`^${n}x+$`));
      expect(journal.get(`b/${n}`)).toBe(String(n));
    }
    // The change that was being written is there whole or not at all.
    expect(journal.get(`a/${told + 1}`) === undefined).toBe(journal.get(`b/${told + 1}`) === undefined);
    last = journal.get(`b/${told + 1}`) === undefined ? told : told + 1;
    expect(journal.get(`a/${last - 20}`)).toBeUndefined();
    await journal.close();
  }
});
