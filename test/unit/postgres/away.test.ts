import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { historyFiles } from "../../../packages/gateway/src/history/index.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { openStore, type Store } from "../../../packages/gateway/src/store/index.ts";
import { ownCluster, postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";
import { until } from "../../harness.ts";

const PLACE = { agentId: "a", channel: "botchat", account: "" };

const REFUSED = { code: "UNAVAILABLE", status: 503, headers: { "retry-after": "2" } };

describe.skipIf(withoutPostgres())(
  "a store whose tables are taken away while it is used (needs Postgres)",
  () => {
    it.each([
      [
        "its schema is gone",
        'ALTER SCHEMA "{schema}" RENAME TO "{schema}_away"',
        'ALTER SCHEMA "{schema}_away" RENAME TO "{schema}"',
      ],
      [
        "its role may not use the schema",
        'REVOKE ALL ON SCHEMA "{schema}" FROM "{role}"',
        'GRANT ALL ON SCHEMA "{schema}" TO "{role}"',
      ],
      [
        "its role may not use the tables",
        'REVOKE ALL ON ALL TABLES IN SCHEMA "{schema}" FROM "{role}"',
        'GRANT ALL ON ALL TABLES IN SCHEMA "{schema}" TO "{role}"',
      ],
    ])(
      "is away, says so once, and serves again by itself: %s [STORE-LOST-1]",
      async (_, takeAway, giveBack) => {
        const place = await postgresStore();
        const role = `${place.schema}_role`;
        const client = new pg.Client({ connectionString: place.url });
        await client.connect();
        onTestFinished(() => client.end());
        const run = (text: string) =>
          client.query(text.replaceAll("{schema}", place.schema).replaceAll("{role}", role));
        await run(
          'CREATE ROLE "{role}" LOGIN; CREATE SCHEMA "{schema}" AUTHORIZATION "{role}"; CREATE EXTENSION IF NOT EXISTS pg_trgm',
        );
        const url = new URL(place.url);
        url.username = role;
        const said: string[] = [];
        const store = await openStore({ ...place, url: url.href }, systemClock, undefined, (text) =>
          said.push(text),
        );
        onTestFinished(() => store.close());
        await store.commit(store.positions.save(PLACE, "before"));
        said.length = 0;
        await run(takeAway);
        await expect(store.commit(store.positions.save(PLACE, "lost"))).rejects.toMatchObject(REFUSED);
        expect(store.health().ok).toBe(false);
        await expect(store.positions.get(PLACE)).rejects.toMatchObject(REFUSED);
        await expect(store.imports.unfinished()).rejects.toMatchObject(REFUSED);
        expect(store.health().ok).toBe(false);
        expect(said).toEqual([expect.stringMatching(/^The store \(.*\) cannot be used any more: /)]);
        await run(giveBack);
        expect(await store.positions.get(PLACE)).toBe("before");
        expect(store.health().ok).toBe(true);
      },
    );

    it("notices it although nobody asks for anything [STORE-LOST-1]", async () => {
      const place = await postgresStore();
      const store = await openStore(place, systemClock);
      onTestFinished(() => store.close());
      const client = new pg.Client({ connectionString: place.url });
      await client.connect();
      onTestFinished(() => client.end());
      await client.query(`ALTER SCHEMA "${place.schema}" RENAME TO "${place.schema}_away"`);
      await until(() => !store.health().ok, "the store to be away");
      await client.query(`ALTER SCHEMA "${place.schema}_away" RENAME TO "${place.schema}"`);
      await until(() => store.health().ok, "the store to be back");
    });
  },
);

describe.skipIf(withoutPostgres())("a store whose Postgres goes away (needs Postgres)", () => {
  let cluster: Awaited<ReturnType<typeof ownCluster>>;
  let store: Store;
  beforeAll(async () => {
    cluster = await ownCluster();
    const place = {
      driver: "postgres",
      url: cluster.url,
      schema: "gateway",
      poolSize: 5,
      ssl: "prefer",
      files: historyFiles,
    } as const;
    store = await openStore(place, systemClock);
  });
  afterAll(async () => {
    await store.close();
    await cluster[Symbol.asyncDispose]();
  });
  const save = (value: string) => store.commit(store.positions.save(PLACE, value));

  it("refuses within 5 s, and serves again when it is back, by itself [STORE-AWAY-1]", async () => {
    await save("before");
    await cluster.stop();
    const began = performance.now();
    await expect(save("lost")).rejects.toMatchObject(REFUSED);
    await expect(store.positions.get(PLACE)).rejects.toMatchObject(REFUSED);
    expect(performance.now() - began).toBeLessThan(10_000);
    await cluster.start();
    expect(await store.positions.get(PLACE)).toBe("before");
    await save("after");
    expect(await store.positions.get(PLACE)).toBe("after");
  });
});
