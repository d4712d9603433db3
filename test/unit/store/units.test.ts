import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { change, hitting, returning, sql } from "../../../packages/gateway/src/store/change.ts";
import type { Store } from "../../../packages/gateway/src/store/index.ts";
import { drivers } from "./drivers.ts";

const PLACE = { agentId: "a", channel: "botchat", account: "" };

describe.each(drivers)("units in $driver", ({ open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const value = () => store.positions.get(PLACE);

  it("take effect in the order in which they were asked for [STORE-UNITS-1, STORE-BOTH-1]", async () => {
    const numbers = Array.from({ length: 300 }, (_, n) => n);
    await Promise.all(numbers.map((n) => store.commit(store.positions.save(PLACE, String(n)))));
    expect(await value()).toBe("299");
  });

  it("change nothing when one of their statements fails, and take no other with them [STORE-UNITS-1]", async () => {
    const outcomes = await Promise.allSettled([
      store.commit(store.positions.save(PLACE, "before")),
      store.commit(
        store.positions.save(PLACE, "broken"),
        change(sql("INSERT INTO events (type) VALUES ('no time')")),
      ),
      store.commit(store.positions.save({ ...PLACE, account: "other" }, "after")),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await value()).toBe("before");
    expect(await store.positions.get({ ...PLACE, account: "other" })).toBe("after");
  });

  it("hold texts without U+0000 and halves of surrogate pairs [STORE-TEXT-1]", async () => {
    const broken = "nul \0, high \ud83d, low \udc00, whole \u{1f600}";
    const mended = "nul \u{fffd}, high \u{fffd}, low \u{fffd}, whole \u{1f600}";
    const place = { ...PLACE, account: "a\0b" };
    await store.commit(store.positions.save(place, broken));
    expect(await store.positions.get(place)).toBe(mended);
    expect(await store.positions.get({ ...PLACE, account: "a\u{fffd}b" })).toBe(mended);
  });

  it("are swept without harm to those of the last hour [STORE-COMMIT-1]", async () => {
    const [hit] = await store.commit(hitting(sql("UPDATE event_numbers SET last = last")));
    expect(hit).toBe(true);
    await store.commit(...(store.housekeeping?.changes() ?? []));
    expect(await value()).toBeUndefined();
  });

  it("answer for each change what it did [STORE-UNITS-1]", async () => {
    const save = "INSERT INTO channel_positions (agent_id, channel, account, value) VALUES (?, ?, ?, ?)";
    const [hit, missed, rows] = await store.commit(
      hitting(sql(save, "a", "c?", "", "it's a 'quoted' ? text")),
      hitting(sql("UPDATE channel_positions SET value = '?' WHERE agent_id = ?", "none")),
      returning(
        sql(`${save} RETURNING value, 1 AS one, NULL AS gap`, "a", "d", "", "two\nlines \\ ☃"),
        (found) => found,
      ),
    );
    expect([hit, missed]).toEqual([true, false]);
    expect(rows).toEqual([{ value: "two\nlines \\ ☃", one: 1, gap: null }]);
    expect(await store.positions.get({ ...PLACE, channel: "c?" })).toBe("it's a 'quoted' ? text");
  });
});
