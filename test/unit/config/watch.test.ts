import { watch } from "node:fs";
import { mkdir, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readSnapshot, watchFile } from "../../../packages/gateway/src/config/watch.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";
import { until } from "../../harness.ts";

const POLL_MS = 2000;
const DEBOUNCE_MS = 100;

/** A file that is looked at on a clock of its own. */
async function watched(text: string | null = "1") {
  const file = join(await tempFolder(), "file");
  if (text !== null) await writeFile(file, text);
  const clock = manualClock();
  let looks = 0;
  const stop = watchFile(file, clock, async () => void looks++);
  onTestFinished(stop);
  let touches = 0;
  return {
    file,
    clock,
    stop,
    looks: () => looks,
    touch: (path = file) => utimes(path, 1, ++touches),
    /** A change is known, and a look is due; beside it there is only the timer of the polling. */
    noticed: () => until(() => clock.timers() === 2, "a change to be noticed", 4000),
    async looked() {
      const before = looks;
      clock.advance(DEBOUNCE_MS);
      await until(() => looks > before, "the look", 4000);
    },
  };
}

/** Resolves when a watcher of the test's own has heard of a change, and so every earlier one too. */
function heard(file: string): Promise<unknown> {
  return new Promise((resolve) => {
    const own = watch(file, { persistent: false }, resolve);
    onTestFinished(() => own.close());
  });
}

/** Time enough for what was under way to read the file's state. */
async function settled(file: string): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await stat(file).catch(() => null);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("a look at the file", () => {
  it("tells two writes of the same text apart", async () => {
    const file = join(await tempFolder(), "file");
    await writeFile(file, "same");
    const first = await readSnapshot(file);
    expect(first?.text).toBe("same");
    expect(await readSnapshot(file)).toEqual(first);
    await utimes(file, 1, 1);
    expect((await readSnapshot(file))?.signature).not.toBe(first?.signature);
  });

  it("finds nothing where there is no file, or a folder", async () => {
    const folder = await tempFolder();
    expect(await readSnapshot(join(folder, "none"))).toBeNull();
    expect(await readSnapshot(folder)).toBeNull();
  });
});

describe("following the file", () => {
  it("looks once for changes that come close together, when the last is a moment ago", async () => {
    const { touch, clock, noticed, looked, looks, file } = await watched();
    await touch();
    await noticed();
    clock.advance(DEBOUNCE_MS - 1);
    await settled(file);
    expect(looks()).toBe(0);
    const second = heard(file);
    await touch();
    await second;
    clock.advance(DEBOUNCE_MS - 1);
    await settled(file);
    expect(looks()).toBe(0);
    await looked();
    expect([clock.timers(), looks()]).toEqual([1, 1]);
  });

  it("goes on with the file that takes the place of the old one", async () => {
    const { file, touch, noticed, looked } = await watched();
    for (const round of [1, 2, 3]) {
      await writeFile(`${file}.new`, String(round));
      await rename(`${file}.new`, file);
      await noticed();
      await looked();
      await touch();
      await noticed();
      await looked();
    }
  });

  it("finds by polling what no watcher tells: a file that comes later, and a link to another one", async () => {
    const { file, clock, noticed, looked, looks } = await watched(null);
    clock.advance(POLL_MS);
    await settled(file);
    expect([clock.timers(), looks()]).toEqual([1, 0]);
    const folders = await Promise.all([tempFolder(), tempFolder()]);
    for (const folder of folders) await writeFile(join(folder, "real"), folder);
    await symlink(join(folders[0]!, "real"), file);
    clock.advance(POLL_MS);
    await noticed();
    await looked();
    // Nothing has changed since.
    clock.advance(POLL_MS);
    await settled(file);
    expect([clock.timers(), looks()]).toEqual([1, 1]);
    await symlink(join(folders[1]!, "real"), `${file}.new`);
    await rename(`${file}.new`, file);
    clock.advance(POLL_MS);
    await noticed();
    await looked();
  });

  it("looks when the file goes, and when it comes back", async () => {
    const { file, clock, noticed, looked } = await watched();
    await rm(file);
    await noticed();
    await looked();
    await mkdir(file);
    clock.advance(POLL_MS);
    await noticed();
    await looked();
  });
});

describe("the end of following", () => {
  it("leaves no timer and no watcher", async () => {
    const { file, touch, clock, noticed, stop, looks } = await watched();
    await touch();
    await noticed();
    stop();
    expect(clock.timers()).toBe(0);
    const other = heard(file);
    await touch();
    await other;
    await settled(file);
    expect([clock.timers(), looks()]).toEqual([0, 0]);
  });

  it("is final also for a look or a poll that has begun", async () => {
    for (const ms of [DEBOUNCE_MS, POLL_MS]) {
      const { file, touch, clock, noticed, stop, looks } = await watched();
      if (ms === DEBOUNCE_MS) {
        await touch();
        await noticed();
      }
      clock.advance(ms);
      stop();
      await settled(file);
      expect([clock.timers(), looks()]).toEqual([0, 0]);
    }
  });
});
