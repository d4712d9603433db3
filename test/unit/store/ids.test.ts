import { expect, it } from "vitest";
import type { ImportState } from "../../../packages/gateway/src/store/index.ts";
import type { Database } from "../../../packages/gateway/src/store/sqlite/database.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";

const session = { uuid: "s", agentId: "a", chatId: "c", name: "n", unnamed: false, now: 1 };
const said = { session: "s", role: "user" as const, content: "x", ts: 1, extra: {} };

it("a message's id is never given again after a crash, however much was committed before it [MSGID-1]", async () => {
  const db = memoryDatabase();
  let fails = false;
  const faulty: Database = {
    ...db,
    write: (...statements) => (fails ? Promise.reject(new Error("disk full")) : db.write(...statements)),
  };
  const stored = new Set<number>();
  let highest = 0;
  for (let start = 0; start < 12; start++) {
    const store = createStore(faulty);
    if (start === 0) await store.commit(store.sessions.add(session));
    // What the last start stored is known; what it gave without storing it is not.
    for (let n = 0; n < 700; n++) {
      const id = store.ids.message();
      expect(id).toBeGreaterThan(highest);
      highest = id;
      fails = n % 3 === start % 3;
      const [done] = await store.commit(store.messages.add({ id, ...said })).catch(() => [false]);
      if (done) stored.add(id);
    }
    // Given, and lost with the process.
    for (let n = 0; n < start * 200; n++) store.ids.message();
    highest = Math.max(...stored);
  }
  const rows = db.all<{ id: number }>("SELECT id FROM messages ORDER BY id");
  expect(rows.map(({ id }) => id)).toEqual([...stored].sort((a, b) => a - b));
});

it("ids of one start rise, and a job's range is reserved before the job begins [MSGID-1]", async () => {
  const db = memoryDatabase();
  const given: number[] = [];
  const writerJob: Database["writerJob"] = async (_name, args) => {
    given.push((args as { ids: { first: number } }).ids.first);
    // The process ends while the job stores its rows: the next start knows of all of them.
    expect(createStore(db).ids.message()).toBeGreaterThanOrEqual(given[0]! + 5000);
    return undefined as never;
  };
  const store = createStore({ ...db, writerJob });
  const before = store.ids.message();
  await store.imports.store("file", {} as ImportState, 5000);
  const first = given[0]!;
  expect(first).toBe(before + 1);
  expect(store.ids.message()).toBe(first + 5000);
});

it("reserving costs no unit of its own, and stops once it is stored [MSGID-1]", async () => {
  const db = memoryDatabase();
  const units: number[] = [];
  const counting: Database = {
    ...db,
    write(...statements) {
      units.push(statements.filter(({ sql }) => sql.includes("id_blocks")).length);
      return db.write(...statements);
    },
  };
  const store = createStore(counting);
  await store.commit(store.sessions.add(session));
  for (let n = 0; n < 1500; n++) await store.commit(store.messages.add({ id: store.ids.message(), ...said }));
  expect(units.length).toBe(1501);
  expect(units.filter((count) => count > 0)).toEqual([1, 1]);
});

it("a start gives no id that a row has already, whoever stored it [MSGID-1]", async () => {
  const db = memoryDatabase();
  await db.write({
    sql: "INSERT INTO messages (id, chat, session, role, content, ts) VALUES (77777, 1, 1, 0, '', 1)",
    params: [],
  });
  await db.write({ sql: "DELETE FROM messages", params: [] });
  expect(createStore(db).ids.message()).toBe(77778);
});
