import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { openStore, type Store } from "../../../packages/gateway/src/store/index.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";

describe.skipIf(withoutPostgres())("search in Postgres (needs Postgres)", () => {
  let store: Store;
  let other: pg.Client;
  let schema: string;
  let url: string;
  beforeAll(async () => {
    const place = await postgresStore();
    ({ schema, url } = place);
    store = await openStore(place, systemClock);
    other = new pg.Client(url);
    await other.connect();
    const named = { uuid: "s", agentId: "a", chatId: "c", name: "A name", unnamed: false, now: 1 };
    await store.commit(store.sessions.add(named));
  });
  afterAll(async () => {
    await store.close();
    await other.end();
  });

  const say = (content: string, count = 1) =>
    store.commit(
      ...Array.from({ length: count }, (_, n) => {
        const id = store.ids.message();
        return store.messages.add({
          id,
          session: "s",
          role: "user",
          content: `${content} ${n}`,
          ts: n,
          extra: {},
        });
      }),
    );
  const find = (q: string, signal = new AbortController().signal) =>
    store.search.find({ agentId: "a", chatId: "c", q, limit: 5, offset: 0 }, signal);
  const searching = async () => {
    const { rows } = await other.query(
      "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%strpos(folded%' AND pid <> pg_backend_pid()",
    );
    return rows.length;
  };

  it("gives up the work of a client that has left, in the server [STORE-CANCEL-1]", async () => {
    await say("needle");
    // What a transaction sees of the activity stays the same to its end.
    const holder = new pg.Client(url);
    await holder.connect();
    await holder.query("BEGIN");
    await holder.query(`LOCK TABLE "${schema}".message_search IN ACCESS EXCLUSIVE MODE`);
    const leaving = new AbortController();
    const found = find("needle", leaving.signal).catch((error: unknown) => error);
    await expect.poll(searching).toBe(1);
    leaving.abort(new Error("left"));
    expect(await found).toMatchObject({ message: "left" });
    await expect.poll(searching).toBe(0);
    await holder.query("COMMIT");
    await holder.end();
    expect((await find("needle")).total).toBe(1);
  });

  it("sorts what was added into its indexes while nothing else happens", async () => {
    await say("pending", 250);
    await other.query("CREATE EXTENSION IF NOT EXISTS pgstattuple");
    const pending = async () => {
      const { rows } = await other.query(
        `SELECT pending_pages AS pages FROM pgstatginindex('"${schema}".message_search_text')`,
      );
      return Number(rows[0].pages);
    };
    expect((await find("pending")).total).toBe(250);
    await expect.poll(pending, { timeout: 10_000 }).toBe(0);
  });
});
