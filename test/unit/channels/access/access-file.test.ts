import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { createAccessFile } from "../../../../packages/gateway/src/channels/access/access-file.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { recordingLogger, tempHome } from "../../../fixtures/temp-home.ts";

const OPEN = '{ "allowFrom": ["42"] }';
const LETS_42_IN = { policy: { dmAllowlist: new Set(["42"]) } };

async function opened() {
  const home = await tempHome();
  const path = join(home.paths.home, "channels", "access.json");
  const clock = manualClock();
  const log = recordingLogger();
  const file = createAccessFile(path, "botchat", { clock, log, first: () => undefined });
  const put = async (text: string) => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  };
  return { file, clock, log, put, remove: () => rm(path) };
}

it("a file that is gone judges nobody for two seconds, as editors replace files, and is then no file [CH-WAIT-7]", async () => {
  const { file, clock, put, remove } = await opened();
  const defaults = await file.readToJudge();
  expect(defaults).toBeDefined();
  await put(OPEN);
  const open = await file.readToJudge();
  expect(open).toMatchObject(LETS_42_IN);
  await remove();
  expect(await file.readToJudge()).toBeUndefined();
  // What only shows the rules need not wait.
  expect(await file.read()).toEqual(defaults);
  clock.advance(2_000);
  expect(await file.readToJudge()).toBeUndefined();
  await put(OPEN);
  expect(await file.readToJudge()).toEqual(open);
  await remove();
  expect(await file.readToJudge()).toBeUndefined();
  clock.advance(2_001);
  expect(await file.readToJudge()).toEqual(defaults);
  clock.advance(60_000);
  expect(await file.readToJudge()).toEqual(defaults);
});

it("a file larger than any that was written by hand is broken: it lets nobody in, and stays as it is [CH-WAIT-5]", async () => {
  const { file, put, log } = await opened();
  const limit = 16 * 1024 * 1024;
  await put(OPEN.padEnd(limit));
  expect(await file.read()).toMatchObject(LETS_42_IN);
  await put(OPEN.padEnd(limit + 1));
  expect(await file.read()).toBeUndefined();
  await expect(file.change(() => {})).rejects.toMatchObject({ code: "CONFLICT" });
  expect(log.lines).toHaveLength(1);
  await put(OPEN);
  expect(await file.read()).toMatchObject(LETS_42_IN);
});
