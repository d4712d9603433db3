import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { openStore, type Store } from "../../../packages/gateway/src/store/index.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";

describe.skipIf(withoutPostgres())("search on Postgres under another version of Unicode", () => {
  let place: Awaited<ReturnType<typeof postgresStore>>;
  let client: pg.Client;
  beforeEach(async () => {
    place = await postgresStore();
    client = new pg.Client(place.url);
    await client.connect();
  });
  afterEach(() => client.end());

  const query = async (text: string) => (await client.query(text.replaceAll("S.", `${place.schema}.`))).rows;
  async function using<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const store = await openStore(place, systemClock);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }
  const found = async (store: Store, q: string) => {
    const query = { agentId: "a", chatId: "api-one", q, limit: 10, offset: 0 };
    return (await store.search.find(query, new AbortController().signal)).total;
  };
  const settled = () =>
    expect
      .poll(() => query("SELECT value FROM S.meta WHERE key = 'search_unicode'"), { timeout: 10_000 })
      .toEqual([{ value: process.versions.unicode }]);

  it("all texts are folded anew in the background, also where that was cut off, and missing ones are added [STORE-PG-4]", async () => {
    await using(async (store) => {
      await store.commit(
        store.sessions.add({ uuid: "s", agentId: "a", chatId: "api-one", name: "S", unnamed: false, now: 1 }),
      );
      for (let n = 0; n < 5; n++) {
        const message = {
          id: store.ids.message(),
          session: "s",
          role: "user" as const,
          content: `Größe ${n}`,
          ts: n,
          extra: {},
        };
        await store.commit(store.messages.add(message));
      }
    });
    await settled();
    await query("UPDATE S.message_search SET folded = 'other'");
    await query("DELETE FROM S.message_search WHERE message = (SELECT max(message) FROM S.message_search)");
    // Nothing to do under the same version.
    await using(async (store) => expect(await found(store, "größe")).toBe(0));

    await query("UPDATE S.meta SET value = '1.0' WHERE key = 'search_unicode'");
    await query(
      `INSERT INTO S.meta SELECT 'search_refold', '{"unicode":"${process.versions.unicode}","after":' || min(id) || '}' FROM S.messages`,
    );
    await using(async (store) => {
      await settled();
      // The first was folded before the cut.
      expect(await found(store, "größe")).toBe(4);
    });
    await query("UPDATE S.meta SET value = '1.0' WHERE key = 'search_unicode'");
    await using(async (store) => {
      await settled();
      expect(await found(store, "größe")).toBe(5);
    });
    expect(await query("SELECT 1 FROM S.meta WHERE key = 'search_refold'")).toEqual([]);
  });
});
