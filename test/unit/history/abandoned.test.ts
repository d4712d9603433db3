import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Connection, openConnection } from "../../../packages/gateway/src/store/sqlite/connection.ts";
import { search } from "../../../packages/gateway/src/store/sqlite/search/find.ts";
import { newId, openStore, type Store } from "./store.ts";

const query = { agentId: "a", chatId: "api-x", q: "needle", limit: 5, offset: 0 };

describe("a search whose client has left", () => {
  let store: Store;
  beforeAll(async () => {
    store = openStore();
    const session = newId();
    const texts = Array.from({ length: 50 }, (_, n) => ({ session, content: `needle ${n}`, ts: n }));
    await store.add("a", "api-x", texts);
  });
  afterAll(() => store.close());

  it("ends in the middle of its work [SEARCH-GONE-1]", () => {
    const db = openConnection(`${store.home}/gateway.db`, "read");
    const abandoned = new Int32Array(new SharedArrayBuffer(4));
    expect(search(db, query, abandoned).total).toBe(50);
    let looked = 0;
    const leaving: Connection = {
      ...db,
      prepare(sql) {
        const statement = db.prepare(sql);
        return Object.assign(Object.create(statement), {
          *iterate(...params: (string | number)[]) {
            for (const row of statement.iterate(...params)) {
              if (++looked === 3) Atomics.store(abandoned, 0, 1);
              yield row;
            }
          },
        });
      },
    };
    expect(() => search(leaving, query, abandoned)).toThrow(/nobody waits/);
    expect(looked).toBe(3);
    db.close();
  });

  it("does not start if it was still waiting, and those behind it go on [SEARCH-GONE-1]", async () => {
    const leaving = new AbortController();
    let started = 0;
    const waiting = (signal: AbortSignal) => ({ signal, takeRoom: () => void started++ });
    const patient = new AbortController().signal;
    const first = store.history.search(query, waiting(patient));
    const gone = store.history.search(query, waiting(leaving.signal)).catch((error: unknown) => error);
    const last = store.history.search(query, waiting(patient));
    leaving.abort();
    expect((await first).total).toBe(50);
    expect((await last).total).toBe(50);
    expect(await gone).toMatchObject({ message: "The client has left." });
    expect(started).toBe(2);
  });

  it("is told so while it runs [SEARCH-GONE-1]", async () => {
    const leaving = new AbortController();
    const running = store.rows.search.find(query, leaving.signal).catch((error: unknown) => error);
    leaving.abort(new Error("left"));
    expect(await running).toMatchObject({ message: "left" });
    await turnOfTheLoop();
    expect((await store.history.search(query)).total).toBe(50);
  });
});
