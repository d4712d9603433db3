import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { change, sql } from "../../../packages/gateway/src/store/change.ts";
import { openStore } from "../../../packages/gateway/src/store/index.ts";
import { createPool } from "../../../packages/gateway/src/store/postgres/pool.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";
import { tcpProxy } from "../../fixtures/tcp-proxy.ts";
import { until } from "../../harness.ts";

describe.skipIf(withoutPostgres())("on Postgres", () => {
  it("a cancelled read leaves alone what comes after it on its connection [STORE-NEIGHBOURS-1]", async () => {
    const place = await postgresStore();
    const url = new URL(place.url);
    await using proxy = await tcpProxy(Number(url.port));
    url.port = String(proxy.port);
    // One connection for long reads.
    const pool = createPool({ ...place, url: url.href, poolSize: 3 }, systemClock, () => {});
    onTestFinished(() => pool.close());
    const sleep = (seconds: number) => [{ text: `SELECT 1 AS one FROM pg_sleep(${seconds})`, values: [] }];
    const watcher = new pg.Client({ connectionString: place.url });
    await watcher.connect();
    onTestFinished(() => watcher.end());
    const isAtWork = async (seconds: number) => {
      const text = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query = $1";
      return (await watcher.query(text, [sleep(seconds)[0]!.text])).rows.length > 0;
    };
    await pool.run("long", sleep(0));
    const client = new AbortController();
    const left = pool.run("long", sleep(0.3), { signal: client.signal }).catch(() => {});
    await until(() => isAtWork(0.3), "the first read");
    const release = proxy.hold();
    client.abort();
    // Ended by itself before the server heard of it.
    await left;
    const next = pool.run("long", sleep(0.5)).then(
      ([only]) => only!.rows,
      (error: Error) => error.message,
    );
    await until(() => isAtWork(0.5), "the next read");
    release();
    expect(await next).toEqual([{ one: 1 }]);
  });

  it("a unit for which there is no room fails alone [STORE-NEIGHBOURS-2]", async () => {
    const store = await openStore(await postgresStore(), systemClock);
    onTestFinished(() => store.close());
    const full = change(sql("DO $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$"));
    const login = (digest: string) => store.logins.keep({ digest, keyId: "k", expiresAt: 1 });
    const results = await Promise.allSettled(
      ["first", "second", "full", "third"].map((name) => store.commit(name === "full" ? full : login(name))),
    );
    expect(results).toMatchObject([
      { status: "fulfilled" },
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "UNAVAILABLE" } },
      { status: "fulfilled" },
    ]);
    expect((await store.logins.all()).length).toBe(3);
  });
});
