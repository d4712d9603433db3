import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { sweepCopies } from "../../../packages/gateway/src/store/sqlite/copies.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { memoryDatabase } from "../../fixtures/memory-db.ts";

const HOUR = 3_600_000;

it("copies are removed a day after the first start that succeeded, not earlier [MIGRATE-2]", async () => {
  const folder = await mkdtemp(join(tmpdir(), "agent-gateway-copies-"));
  const file = join(folder, "gateway.db");
  const copy = `${file}.before-9`;
  for (const path of [copy, `${file}.before-summer`, `${file}-wal`]) await writeFile(path, "");
  const clock = manualClock();
  const db = memoryDatabase();
  const noted = () => db.all("SELECT value FROM meta WHERE key = 'copy:gateway.db.before-9'").length;
  const stop = sweepCopies(db, file, clock);
  await vi.waitFor(() => expect(noted()).toBe(1));
  clock.advance(20 * HOUR);
  stop();
  // The gateway is restarted: the first success counts.
  const stopAgain = sweepCopies(db, file, clock);
  clock.advance(3 * HOUR);
  expect(existsSync(copy)).toBe(true);
  clock.advance(2 * HOUR);
  await vi.waitFor(() => expect(noted()).toBe(0));
  expect(existsSync(copy)).toBe(false);
  expect(existsSync(`${file}.before-summer`)).toBe(true);
  expect(existsSync(`${file}-wal`)).toBe(true);
  stopAgain();
  await rm(folder, { recursive: true });
});
