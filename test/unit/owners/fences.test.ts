import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import {
  FencedError,
  openStore,
  type Placement,
  type Store,
} from "../../../packages/gateway/src/store/index.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";
import { until } from "../../harness.ts";

const PLACE = { agentId: "a", channel: "botchat", account: "" } as const;

/** Two gateways on one schema, and a connection of the test's own. */
async function rig() {
  const place = await postgresStore();
  const stores = [await openStore(place, systemClock), await openStore(place, systemClock)] as const;
  const client = new pg.Client({ connectionString: place.url });
  await client.connect();
  await client.query(`SET search_path = "${place.schema}"`);
  onTestFinished(async () => {
    await client.end();
    for (const store of stores) await store.close();
  });
  const refused: string[] = [];
  /** Takes the agent, and lets the store's units carry the fence. */
  const take = async (store: Store, bootId: string, seen?: Pick<Placement, "bootId" | "fence">) => {
    const { directory, ownedBy } = store.shared!;
    const fence = await directory.take("a", { bootId, workspace: "w" }, seen);
    if (fence === undefined) return undefined;
    const claim = {
      agentId: "a",
      bootId,
      fence,
      holds: () => true,
      reaches: () => true,
      refused: () => void refused.push(bootId),
    };
    ownedBy((agentId) => (agentId === "a" ? claim : undefined));
    return fence;
  };
  const save = (store: Store, value: string) =>
    store.forAgent("a").commit(store.positions.save(PLACE, value));
  return { stores, client, take, save, refused };
}

describe.skipIf(withoutPostgres())("an agent's units", () => {
  it("are refused whole once another gateway has taken it [OWN-5]", async () => {
    const { stores, take, save, refused } = await rig();
    const [one, two] = stores;
    await expect(save(one, "before")).rejects.toThrow(FencedError);
    expect(await take(one, "one")).toBe(1);
    await save(one, "mine");
    expect(await take(two, "two", { bootId: "one", fence: 1 })).toBe(2);
    await expect(save(one, "too late")).rejects.toThrow(FencedError);
    expect(refused).toEqual(["one"]);
    await save(two, "now mine");
    expect(await one.positions.get(PLACE)).toBe("now mine");
    // Units that wait together are one transaction; only the one with the old fence fails.
    const results = await Promise.allSettled([
      one.commit(one.logins.keep({ digest: "d", keyId: "k", expiresAt: 1 })),
      save(one, "again"),
      one.commit(one.logins.keep({ digest: "e", keyId: "k", expiresAt: 1 })),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  it("that began before the taking end before it, and are seen by whoever takes it [OWN-5]", async () => {
    const { stores, client, take, save } = await rig();
    const [one, two] = stores;
    await take(one, "one");
    await save(one, "old");
    await client.query("BEGIN");
    await client.query("SELECT 1 FROM channel_positions FOR UPDATE");
    // Has its fence by now, and waits for the row.
    const saved = save(one, "in flight");
    const waiting = async (text: string) => {
      // Otherwise this transaction would see the same picture again.
      await client.query("SELECT pg_stat_clear_snapshot()");
      const { rowCount } = await client.query(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1",
        [`%${text}%`],
      );
      return rowCount;
    };
    await until(() => waiting("channel_positions"), "the unit to wait");
    let taken = false;
    const taking = take(two, "two", { bootId: "one", fence: 1 }).then(async (fence) => {
      taken = true;
      return [fence, await two.positions.get(PLACE)];
    });
    await until(() => waiting("placements"), "the taking to wait");
    expect(taken).toBe(false);
    await client.query("COMMIT");
    await saved;
    expect(await taking).toEqual([2, "in flight"]);
  });

  it("are not those of two that took it at once, nor of one that saw an older owner [OWN-5]", async () => {
    const { stores, take } = await rig();
    const first = await Promise.all([take(stores[0], "one"), take(stores[1], "two")]);
    expect(first.filter((fence) => fence !== undefined)).toEqual([1]);
    const winner = first[0] === undefined ? "two" : "one";
    expect(await take(stores[0], "three", { bootId: "nobody", fence: 1 })).toBeUndefined();
    const seen = { bootId: winner, fence: 1 };
    const second = await Promise.all([take(stores[0], "three", seen), take(stores[1], "four", seen)]);
    expect(second.filter((fence) => fence !== undefined)).toEqual([2]);
  });

  it("get ids above all that the last owner was given [OWN-6]", async () => {
    const { stores, take } = await rig();
    const [one, two] = stores;
    await take(one, "one");
    const ids: number[] = [];
    // Faster than anything stores them; the next block may not be there yet.
    const next = () => {
      try {
        return one.ids.message();
      } catch {
        return undefined;
      }
    };
    while (ids.length < 250_000) ids.push(next() ?? (await until(next, "more ids")));
    expect(ids.every((id, at) => at === 0 || id > ids[at - 1]!)).toBe(true);
    const other = two.ids.message();
    expect(new Set(ids).has(other)).toBe(false);
    await take(two, "two", { bootId: "one", fence: 1 });
    expect(two.ids.message()).toBeGreaterThan(ids.at(-1)!);
  });
});
