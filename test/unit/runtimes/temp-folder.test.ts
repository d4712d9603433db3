import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withTempFolder } from "../../../packages/gateway/src/runtimes/temp-folder.ts";
import type { Runtime, RuntimeSession } from "../../../packages/gateway/src/runtimes/types.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";
import { openOptions } from "./open-options.ts";

/** Sessions whose processes end when the test says so, and what each was started with. */
async function rig() {
  const sessionDir = await tempFolder();
  const ends: Array<() => void> = [];
  const folders: string[] = [];
  const runtime = withTempFolder({
    type: "acp",
    async open({ env }) {
      folders.push(env.TMPDIR!);
      const gone = Promise.withResolvers<void>();
      ends.push(gone.resolve);
      return { closed: gone.promise, close: () => gone.promise } as unknown as RuntimeSession;
    },
  } as Runtime);
  const isThere = (path: string) =>
    stat(path).then(
      () => true,
      () => false,
    );
  return { sessionDir, ends, folders, isThere, open: () => runtime.open(openOptions({ sessionDir })) };
}

test("a process keeps its temp folder when the one before it ends late [FAULT-5]", async () => {
  const { open, ends, folders, isThere } = await rig();
  const first = await open();
  const closing = first.close();
  const second = await open();
  await writeFile(join(folders[1]!, "notes"), "");
  ends[0]!();
  await closing;
  expect(await isThere(join(folders[1]!, "notes"))).toBe(true);
  ends[1]!();
  await second.close();
  expect(await Promise.all(folders.map(isThere))).toEqual([false, false]);
});

test("a temp folder that is being removed goes before the next one of the session is made [FAULT-5]", async () => {
  const { open, ends, folders, isThere } = await rig();
  for (let n = 0; n < 20; n++) {
    const session = await open();
    await mkdir(join(folders.at(-1)!, "deep", "er"), { recursive: true });
    const closing = session.close();
    ends.at(-1)!();
    await new Promise((resolve) => setImmediate(resolve));
    const next = await open();
    await closing;
    expect(await isThere(folders.at(-1)!)).toBe(true);
    ends.at(-1)!();
    await next.close();
  }
});
