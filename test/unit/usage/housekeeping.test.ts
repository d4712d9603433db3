import { expect, test } from "vitest";
import { createUsage } from "../../../packages/gateway/src/usage/index.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";

const DAY_MS = 86_400_000;

test("rows go after 90 days, and their days keep them [USE-6]", async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1, 12));
  const db = memoryDatabase();
  const store = createStore(db);
  const spend = { currency: "USD", timezone: "UTC", prices: {} };
  const usage = createUsage({ store, clock, spend: () => spend });
  const turn = {
    requestId: "r",
    agentId: "a",
    keyId: null,
    chatId: "botchat-1",
    session: "s",
    model: "m",
    used: undefined,
    chars: { told: 8, said: 4 },
  };
  const keep = () => store.commit(...usage.housekeeping.changes());
  await store.commit(...usage.record(turn).change);
  await keep();
  clock.advance(90 * DAY_MS);
  await store.commit(...usage.record(turn).change);
  await keep();
  const rows = () => db.all<{ day: string }>("SELECT day FROM usage ORDER BY day").map(({ day }) => day);
  expect(rows()).toEqual(["2026-01-01", "2026-04-01"]);
  clock.advance(1);
  await keep();
  expect(rows()).toEqual(["2026-04-01"]);
  const report = await usage.report({ from: "2026-01-01", groups: ["day", "source", "key"] });
  expect(report.rows).toMatchObject([
    { day: "2026-01-01", source: "botchat", key: null, turns: 1, inputTokens: 2, outputTokens: 1 },
    { day: "2026-04-01", turns: 1 },
  ]);
});
