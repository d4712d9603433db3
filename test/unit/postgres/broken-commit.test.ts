import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { change, returning, sql } from "../../../packages/gateway/src/store/change.ts";
import { openStore, type Store, UnsettledError } from "../../../packages/gateway/src/store/index.ts";
import { LinkError } from "../../../packages/gateway/src/store/postgres/link.ts";
import { createPool } from "../../../packages/gateway/src/store/postgres/pool.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";
import { type TcpProxy, tcpProxy } from "../../fixtures/tcp-proxy.ts";

const PLACE = { agentId: "a", channel: "botchat", account: "" };

describe.skipIf(withoutPostgres())("a connection that breaks in the commit (needs Postgres)", () => {
  let proxy: TcpProxy;
  let store: Store;
  beforeEach(async () => {
    const place = await postgresStore();
    const url = new URL(place.url);
    proxy = await tcpProxy(Number(url.port));
    url.port = String(proxy.port);
    store = await openStore({ ...place, url: url.href }, systemClock);
  });
  afterEach(async () => {
    await store.close();
    await proxy[Symbol.asyncDispose]();
  });

  /** Counts how often it took effect, and answers the number. */
  const count = () =>
    returning(
      sql(
        `INSERT INTO channel_positions (agent_id, channel, account, value) VALUES ('a', 'botchat', '', '1')
         ON CONFLICT (agent_id, channel, account)
         DO UPDATE SET value = CAST(CAST(channel_positions.value AS BIGINT) + 1 AS TEXT) RETURNING value, 7 AS seven`,
      ),
      ([row]) => [row!.value, row!.seven],
    );

  it.each(["before", "answered"] as const)(
    "stores the unit once, and answers it as if nothing had been (%s) [STORE-COMMIT-1]",
    async (when) => {
      expect(await store.commit(count())).toEqual([["1", 7]]);
      const cut = proxy.cutAt("COMMIT", when);
      const answer = store.commit(count(), store.positions.save({ ...PLACE, account: "b" }, "x"));
      await cut;
      expect(await answer).toEqual([["2", 7], undefined]);
      expect(await store.positions.get(PLACE)).toBe("2");
      expect(await store.positions.get({ ...PLACE, account: "b" })).toBe("x");
    },
  );

  it.each([
    ["before", false],
    ["answered", true],
  ] as const)(
    "tells a refused caller later whether its unit was stored, and stores it no later (%s) [STORE-COMMIT-1, STORE-COMMIT-2]",
    async (when, stored) => {
      await store.commit(count());
      const cut = proxy.cutAt("COMMIT", when);
      const refused = store.commit(count()).catch((error: unknown) => error);
      await cut;
      proxy.cut();
      const error = (await refused) as UnsettledError;
      expect(error).toBeInstanceOf(UnsettledError);
      proxy.heal();
      // Nobody asks the store for anything meanwhile.
      expect(await error.outcome).toBe(stored);
      expect(await store.positions.get(PLACE)).toBe(stored ? "2" : "1");
      expect(await store.commit(count())).toEqual([[stored ? "3" : "2", 7]]);
    },
  );

  it("is noticed where the server merely stands still, in time for the caller [STORE-AWAY-1]", async () => {
    await store.commit(count());
    proxy.stall();
    const began = performance.now();
    const refused = { code: "UNAVAILABLE", headers: { "retry-after": "2" } };
    await Promise.all([
      expect(store.commit(count())).rejects.toMatchObject(refused),
      expect(store.positions.get(PLACE)).rejects.toMatchObject(refused),
      expect(store.shared!.directory.look()).rejects.toMatchObject(refused),
    ]);
    expect(performance.now() - began).toBeLessThan(6_000);
    expect(store.health().ok).toBe(false);
    proxy.heal();
    expect(await store.commit(count())).toEqual([["2", 7]]);
    expect(store.health().ok).toBe(true);
  });

  it("is noticed during long work, which goes on while the server merely takes its time [STORE-AWAY-1]", async () => {
    const place = await postgresStore();
    const url = new URL(place.url);
    url.port = String(proxy.port);
    const clock = manualClock();
    const pool = createPool({ ...place, url: url.href }, clock, () => {});
    onTestFinished(() => pool.close());
    const work = (seconds: number) =>
      pool.run("long", [{ text: `SELECT 1 AS one FROM pg_sleep(${seconds})`, values: [] }], { reads: true });
    await work(0);
    const slow = work(0.4);
    clock.advance(4_000);
    expect((await slow)[0]!.rows).toEqual([{ one: 1 }]);
    proxy.stall();
    const refused = work(0).catch((error: unknown) => error);
    // Timers come one after another, each in answer to what the one before it began.
    for (const ms of [2_900, 200, 1_500]) {
      await setImmediate();
      clock.advance(ms);
    }
    expect(await refused).toBeInstanceOf(LinkError);
    expect(pool.ok).toBe(false);
  });

  it("refuses a unit with the error of its statement, when that is not the connection's", async () => {
    await expect(store.commit(change(sql("INSERT INTO events (type) VALUES ('x')")))).rejects.toThrow(
      /null value/,
    );
  });
});
