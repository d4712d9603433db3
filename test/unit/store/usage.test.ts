import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Store, UsageEntry } from "../../../packages/gateway/src/store/index.ts";
import { drivers } from "./drivers.ts";

const SUM = {
  turns: 1 as const,
  inputTokens: 10,
  outputTokens: 2,
  cacheReadTokens: 3,
  cacheWriteTokens: 4,
  cost: 500,
  estimated: false,
  unpriced: false,
};
const entry = (more: Partial<UsageEntry> = {}): UsageEntry => ({
  requestId: "r",
  at: 1000,
  day: "2026-11-22",
  agentId: "a",
  keyId: "k",
  source: "api",
  session: "s",
  model: "m",
  ...SUM,
  ...more,
});
const sum = (more: object = {}) => ({ ...SUM, ...more });
const all = { from: "2000-01-01", to: "2100-01-01" };

describe.each(drivers)("usage in $driver", ({ open }) => {
  let store: Store;
  let batch = 1;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());
  const add = (...entries: UsageEntry[]) => store.commit(...entries.map(store.usage.add));
  const rollUp = (most = 100) => store.commit(store.usage.rollUp(++batch, most));

  it("is summed up by any fields, in the days asked for [USE-8]", async () => {
    await add(
      entry(),
      entry({ keyId: null, model: null, source: "botchat" }),
      entry({ day: "2026-11-23", agentId: "b", session: "t", turns: 0, estimated: true }),
      entry({ day: "2026-11-24", unpriced: true }),
    );
    const { usage } = store;
    expect(await usage.sums(all, ["day", "agent"], 9)).toEqual([
      {
        day: "2026-11-22",
        agent: "a",
        ...sum({
          turns: 2,
          inputTokens: 20,
          outputTokens: 4,
          cacheReadTokens: 6,
          cacheWriteTokens: 8,
          cost: 1000,
        }),
      },
      { day: "2026-11-23", agent: "b", ...sum({ turns: 0, estimated: true }) },
      { day: "2026-11-24", agent: "a", ...sum({ unpriced: true }) },
    ]);
    const day = { from: "2026-11-22", to: "2026-11-22" };
    expect(await usage.sums(day, ["key", "model", "source", "session"], 9)).toEqual([
      { key: null, model: null, source: "botchat", session: "s", ...sum() },
      { key: "k", model: "m", source: "api", session: "s", ...sum() },
    ]);
    expect(await usage.sums({ ...day, keyId: "k" }, [], 9)).toEqual([sum()]);
    expect(await usage.sums({ ...all, agentId: "b" }, ["agent"], 9)).toMatchObject([{ agent: "b" }]);
    expect(await usage.sums({ ...all, agentId: "nobody" }, [], 9)).toEqual([]);
    expect(await usage.sums(all, ["day"], 2)).toHaveLength(2);
  });

  it("adds up to the same before, during and after it is rolled up, each row once [USE-6]", async () => {
    const days = ["2026-11-22", "2026-11-23"];
    const rows = Array.from({ length: 25 }, (_, n) =>
      entry({ day: days[n % 2]!, at: n, cost: n, estimated: n === 7, model: n % 3 === 0 ? null : "m" }),
    );
    await add(...rows);
    const groups = ["day", "model"] as const;
    const before = await store.usage.sums(all, groups, 99);
    expect(before.reduce((turns, one) => turns + one.turns, 0)).toBe(25);
    for (let n = 0; n < 4; n++) {
      await rollUp(10);
      expect(await store.usage.sums(all, groups, 99)).toEqual(before);
    }
    await add(entry({ cost: 1 }));
    const [total] = await store.usage.sums(all, [], 9);
    expect(total).toMatchObject({ turns: 26, cost: 301, estimated: true });
    // Two at once, as after a takeover.
    await add(...rows);
    await Promise.all([rollUp(), rollUp()]);
    expect((await store.usage.sums(all, [], 9))[0]).toMatchObject({ turns: 51, cost: 601 });
  });

  it("keeps its totals when old rows go, and no row goes before it is in them [USE-6]", async () => {
    await add(entry({ at: 10 }), entry({ at: 20 }));
    await store.commit(store.usage.removeRows(15, 9));
    expect((await store.usage.sums(all, [], 9))[0]).toMatchObject({ turns: 2 });
    await rollUp();
    await add(entry({ at: 11 }));
    await store.commit(store.usage.removeRows(15, 9));
    expect((await store.usage.sums(all, [], 9))[0]).toMatchObject({ turns: 3 });
  });

  it("knows the agents that left any, rolled up or not", async () => {
    await add(entry({ agentId: "old" }));
    await rollUp();
    await add(entry({ agentId: "new" }));
    expect(await Promise.all(["old", "new", "none"].map(store.usage.knowsAgent))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("stays exact and readable at the largest values that a turn can have", async () => {
    const huge = { inputTokens: 1e12, cost: 1e13 };
    await add(...Array.from({ length: 2000 }, () => entry(huge)));
    await rollUp(5000);
    expect((await store.usage.sums(all, [], 9))[0]).toMatchObject({ inputTokens: 2e15, cost: 2e16 });
  });
});
