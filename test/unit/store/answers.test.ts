import { GatewayError } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { change, followed, returning, sql } from "../../../packages/gateway/src/store/change.ts";
import { cleanMessage, cleanParams, cleanStatement } from "../../../packages/gateway/src/store/clean.ts";
import type { Driver } from "../../../packages/gateway/src/store/driver.ts";
import { cannotStoreNow, createStore, UnsettledError } from "../../../packages/gateway/src/store/index.ts";
import { hasEnded } from "../../../packages/gateway/src/store/sql/index.ts";
import { sqliteDriver } from "../../../packages/gateway/src/store/sqlite/driver.ts";
import { memoryDatabase } from "../../fixtures/memory-db.ts";

const PLACE = { agentId: "a", channel: "botchat", account: "" };

/** A store whose work takes as long as the test says; what was looked for is kept. */
function rig(more: Partial<Driver> = {}) {
  let now = 1_000;
  let took = 0;
  const work = async <T>(done: Promise<T>) => {
    const result = await done;
    now += took;
    return result;
  };
  const own = sqliteDriver(memoryDatabase());
  const asked: string[] = [];
  const driver: Driver = {
    ...own,
    read: (text, params) => work(own.read(text, params)),
    slow: (text, params) => work(own.slow(text, params)),
    write: (statements) => work(own.write(statements)),
    search: {
      find: async ({ q }) => {
        asked.push(q);
        now += took;
        return { messages: [], total: 0 };
      },
      entry: ({ content }) => {
        asked.push(content);
        return [];
      },
    },
    ...more,
  };
  const store = createStore(driver, () => now);
  const done: unknown[] = [];
  store.measure({ did: (...what) => void done.push(what), failed: () => void done.push("failed") });
  return {
    store,
    done,
    asked,
    take(ms: number) {
      took = ms;
    },
  };
}

describe("what the store tells of itself", () => {
  it("is each kind of work with the time that it took, and what failed", async () => {
    const { store, done, take } = rig();
    take(5);
    await store.positions.get(PLACE);
    take(6);
    await store.history.chats("a");
    take(7);
    await store.commit(store.positions.save(PLACE, "x"));
    take(8);
    await store.search.find({ agentId: "a", chatId: "c", q: "q", limit: 1, offset: 0 }, AbortSignal.abort());
    await store.commit(store.turns.mustRun("none")).catch(() => {});
    await Promise.resolve();
    expect(done).toEqual([["read", 5], ["slow", 6], ["unit", 7], ["search", 8], "failed"]);
  });

  it("is its driver, whether it answers, and how fast short reads and units were of late [STORE-AWAY-2]", async () => {
    const { store, take } = rig();
    const health = () => store.health();
    expect(health()).toEqual({ driver: "sqlite", ok: true, latencyMs: null });
    take(9);
    await store.history.chats("a");
    expect(health().latencyMs).toBeNull();
    take(5);
    await store.positions.get(PLACE);
    expect(health().latencyMs).toBe(5);
    take(7);
    await store.commit(store.positions.save(PLACE, "x"));
    expect(health().latencyMs).toBe(7);
    expect(rig({ ok: false }).store.health().ok).toBe(false);
  });

  it("is the size of its log, where it keeps one, and the number of its units", async () => {
    expect(await rig({ walBytes: async () => 4096 }).store.walBytes()).toBe(4096);
    const { walBytes: _, ...without } = sqliteDriver(memoryDatabase());
    expect(await createStore(without).walBytes()).toBeUndefined();
    expect(rig({ units: 3 }).store.units).toBe(3);
  });

  it("is that a long stretch of events is read where it holds up nobody", async () => {
    const { store, done } = rig();
    const filter = { ownerless: true, texts: false };
    for (const [after, upTo] of [
      [0, 1000],
      [0, 1001],
      [90_000, 91_000],
    ] as const) {
      await store.events.after(after, upTo, 10, filter);
    }
    await Promise.resolve();
    expect(done).toEqual([
      ["read", 0],
      ["slow", 0],
      ["read", 0],
    ]);
  });

  it("is what its driver wants done at times [STORE-COMMIT-1]", async () => {
    const statement = sql("INSERT INTO meta (key, value) VALUES ('swept', 'yes')");
    const { store } = rig({ housekeeping: { everyMs: 60_000, statements: () => [statement] } });
    expect(store.housekeeping!.everyMs).toBe(60_000);
    await store.commit(...store.housekeeping!.changes());
    await expect(store.commit(...store.housekeeping!.changes())).rejects.toThrow("UNIQUE");
    expect(rig().store.housekeeping).toBeUndefined();
  });
});

describe("what the store is given", () => {
  it("is looked for as it is stored, wherever it is looked for [STORE-TEXT-1]", async () => {
    const { store, asked } = rig();
    const session = { uuid: "s", agentId: "a\0", chatId: "c", name: "n", unnamed: false, now: 1 };
    await store.commit(store.sessions.add(session));
    expect((await store.history.sessions("a\0")).map(({ uuid }) => uuid)).toEqual(["s"]);
    expect((await store.sessions.latest("a\0", "c"))?.uuid).toBe("s");
    const query = { agentId: "a", chatId: "c", limit: 1, offset: 0 };
    await store.search.find({ ...query, q: "x\0\ud800" }, new AbortController().signal);
    store.search.entry({ id: 1, session: "s", content: "y\0", ts: 1 });
    expect(asked).toEqual(["x\ufffd\ufffd", "y\ufffd"]);
  });

  it("is changed only where no driver could take it [STORE-TEXT-1, STORE-NUMBERS-1]", () => {
    const params = ["text", 1, null, "\u{1f600}"];
    expect(cleanParams(params)).toBe(params);
    const statement = sql("?", ...params);
    expect(cleanStatement(statement)).toBe(statement);
    expect(cleanParams(["a\0", 1.5, null])).toEqual(["a\ufffd", 2, null]);
    expect(cleanParams(["a", 1.4, null])).toEqual(["a", 1, null]);
    expect(cleanParams([null, "\udc00"])).toEqual([null, "\ufffd"]);
    const silent = { sql: "?", params: ["\0"], silent: true as const };
    expect(cleanStatement(silent)).toEqual({ ...silent, params: ["\ufffd"] });
  });

  it("of an import is clean in all that is stored of it [STORE-TEXT-1]", () => {
    const message = {
      chatId: "c\0",
      sessionId: "s\0",
      sessionName: "n\0",
      role: "user" as const,
      content: "t\ud800",
      ts: 1,
      senderName: "u\0",
    };
    expect(cleanMessage(message)).toEqual({
      ...message,
      chatId: "c\ufffd",
      sessionId: "s\ufffd",
      sessionName: "n\ufffd",
      content: "t\ufffd",
      senderName: "u\ufffd",
    });
    const bare = { ...message, sessionName: null, senderName: undefined };
    expect(cleanMessage(bare)).toMatchObject({ sessionName: null, senderName: undefined });
  });

  it("as several changes in one answers what the first of them did [STORE-UNITS-1]", async () => {
    const { store } = rig();
    const one = returning(
      sql("UPDATE event_numbers SET last = last RETURNING 'first' AS name"),
      (rows) => rows,
    );
    const two = returning(
      sql("UPDATE event_numbers SET last = last RETURNING 'second' AS name"),
      (rows) => rows,
    );
    const answers = await store.commit(followed(one, two), change(), followed(change(), one), two);
    expect(answers).toEqual([[{ name: "first" }], undefined, undefined, [{ name: "second" }]]);
  });
});

describe("a unit that failed", () => {
  it("is tried again later where the store or its disk is to blame, and never else [DISK-1, AWAY-1]", () => {
    for (const disk of [
      "database or disk is full",
      "disk I/O error",
      "attempt to write a readonly database",
      "unable to open database file",
      "The database is closed.",
    ]) {
      expect([disk, cannotStoreNow(new Error(disk))]).toEqual([disk, true]);
    }
    expect(cannotStoreNow(new GatewayError("UNAVAILABLE", "Away."))).toBe(true);
    expect(cannotStoreNow(new UnsettledError({}, Promise.resolve(true)))).toBe(true);
    expect(cannotStoreNow(new GatewayError("NOT_FOUND", "disk I/O error"))).toBe(false);
    expect(cannotStoreNow(new Error("UNIQUE constraint failed"))).toBe(false);
    expect(cannotStoreNow(new Error(""))).toBe(false);
    expect(cannotStoreNow("disk I/O error")).toBe(false);
  });

  it("because its turn had ended is told from all others, with both drivers' words [AWAY-6]", () => {
    expect(hasEnded(new Error("NOT NULL constraint failed: turn_parts.text"))).toBe(true);
    const postgres = 'null value in column "text" of relation "turn_parts" violates not-null constraint';
    expect(hasEnded(new Error(postgres))).toBe(true);
    expect(hasEnded(new Error("NOT NULL constraint failed: usage.day"))).toBe(false);
    expect(hasEnded(new Error("no such table: turn_parts"))).toBe(false);
    expect(hasEnded("NOT NULL constraint failed: turn_parts.text")).toBe(false);
  });
});
