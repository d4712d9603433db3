import { expect, it } from "vitest";
import { newId, openStore } from "./store.ts";

it("the index of SQLite is built anew when the runtime's Unicode version changed, and finds the same meanwhile", async () => {
  const session = newId();
  const entries = Array.from({ length: 900 }, (_, i) => ({ session, content: `日本 and ${i}`, ts: i }));
  let store = openStore();
  const totals = async () =>
    Promise.all(
      ["a", "日本", "AND", "日本 and 89"].map(
        async (q) =>
          (await store.history.search({ agentId: "a", chatId: "api-one", q, limit: 1, offset: 0 })).total,
      ),
    );
  await store.add("a", "api-one", entries);
  await store.indexed();
  await store.write({ sql: "UPDATE meta SET value = '1.0' WHERE key = 'search_unicode'", params: [] });
  await store.close(true);
  store = openStore({ home: store.home });
  expect(await totals()).toEqual([900, 900, 900, 11]);
  await store.indexed();
  expect(store.queued()).toBeLessThan(200);
  expect(await totals()).toEqual([900, 900, 900, 11]);
  await store.close();
});
