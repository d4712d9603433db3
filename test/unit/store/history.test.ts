import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { change } from "../../../packages/gateway/src/store/change.ts";
import type { PageQuery, Store } from "../../../packages/gateway/src/store/index.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";
import { drivers } from "./drivers.ts";
import { type Said, say } from "./messages.ts";

const DAY = 86_400_000;
const at = { agentId: "a", chatId: "api-x" };
const said = (id: number, ts: number, more: Partial<Said> = {}): Said => ({
  id,
  agent: "a",
  chat: "api-x",
  session: "s1",
  content: `m${id}`,
  ts,
  ...more,
});

it("a page of long texts that is emptied between its two reads is the last one [ROWS-1]", async () => {
  let reads = 0;
  const db = memoryDatabase(undefined, async (text, phase) => {
    if (phase !== "answered" || !text.includes("octet_length") || ++reads !== 1) return;
    await db.write({ sql: "DELETE FROM messages", params: [] });
  });
  const store = createStore(db);
  await say(store, [said(1, 1), said(2, 2), said(3, 3)]);
  const page = await store.history.page({ ...at, order: "asc", limit: 2, include: "steps" }, false);
  expect([reads > 0, page]).toEqual([true, { messages: [], hasMore: false }]);
});

describe.each(drivers)("history in $driver", ({ open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  /** Ids of all messages, read page by page. */
  const walk = async (query: Omit<PageQuery, "agentId" | "chatId">) => {
    const seen: number[] = [];
    for (let cursor = {}; ; ) {
      const { messages, hasMore } = await store.history.page({ ...at, ...query, ...cursor }, false);
      seen.push(...messages.map(({ id }) => id));
      const last = messages.at(-1);
      if (!hasMore || !last) return seen;
      cursor =
        query.order === "asc"
          ? { after: last.ts, after_id: last.id }
          : { before: last.ts, before_id: last.id };
    }
  };

  it("pages follow time and then id, whatever order the ids were given in [ROWS-1]", async () => {
    // Ids neither rise with time nor follow the order in which the rows were stored.
    await say(store, [
      said(50, 1000),
      said(20, 2000, { session: "s2" }),
      said(40, 2000),
      said(30, 2000),
      said(10, 3000),
      said(60, 500, { session: "s2" }),
    ]);
    const ascending = [60, 50, 20, 30, 40, 10];
    for (const limit of [1, 2, 4, 100]) {
      expect(await walk({ order: "asc", limit })).toEqual(ascending);
      expect(await walk({ order: "desc", limit })).toEqual([...ascending].reverse());
      expect(await walk({ order: "asc", limit, session_id: "s2" })).toEqual([60, 20]);
    }
    // A message with a lower id and a later time that arrives between two pages is neither skipped nor repeated.
    const first = await store.history.page({ ...at, order: "asc", limit: 3 }, false);
    await say(store, [said(5, 2500)]);
    const last = first.messages.at(-1)!;
    const next = await store.history.page(
      { ...at, order: "asc", limit: 9, after: last.ts, after_id: last.id },
      true,
    );
    expect(next.messages.map(({ id }) => id)).toEqual([30, 40, 5, 10]);
  });

  it("a page that is emptied between its two reads is the last one [ROWS-1]", async () => {
    await say(store, [said(1, 1), said(2, 2), said(3, 3)]);
    const reading = store.history.page({ ...at, order: "asc", limit: 1 }, false);
    const clearing = store.commit(change({ sql: "DELETE FROM messages", params: [] }));
    const [page] = await Promise.all([reading, clearing]);
    expect(page.hasMore && page.messages.length === 0).toBe(false);
  });

  it("a page holds as much text and as many steps as fit, one message at least, and leads on [ROWS-1, HARD-TEXT-1]", async () => {
    const MIB = 1024 * 1024;
    const worked = (id: number, mib: number) =>
      said(id, id, { steps: `"${"x".repeat(mib * MIB)}"`, role: 1 });
    await say(store, [said(1, 1), said(2, 2, { content: "x".repeat(9 * MIB) }), said(3, 3)]);
    await say(store, [worked(11, 1), worked(12, 4)]);
    const pages = async (limit: number, include?: "steps") => {
      const seen: string[] = [];
      for (let after = 0, more = true; more; ) {
        const page = await store.history.page({ ...at, order: "asc", limit, after, include }, false);
        seen.push(page.messages.map(({ id }) => id).join());
        expect(page.messages.every(({ content }) => content !== null)).toBe(true);
        after = page.messages.at(-1)!.ts;
        more = page.hasMore;
      }
      return seen;
    };
    expect(await pages(100)).toEqual(["1", "2", "3,11,12"]);
    expect(await pages(2)).toEqual(["1", "2", "3,11", "12"]);
    expect(await pages(100, "steps")).toEqual(["1", "2", "3,11", "12"]);
  });

  it("steps come with the page that asks for them [ROWS-1]", async () => {
    await say(store, [said(1, 1, { role: 1, steps: "[]" }), said(2, 2, { role: 1 })]);
    const query = { ...at, order: "asc", limit: 5 } as const;
    const { messages } = await store.history.page({ ...query, include: "steps" }, true);
    expect(messages.map(({ id, steps }) => [id, steps])).toEqual([
      [1, "[]"],
      [2, null],
    ]);
    const [plain] = (await store.history.page(query, false)).messages;
    expect(plain).toEqual({ id: 1, role: 1, content: "m1", ts: 1, extra: null, uuid: "s1" });
  });

  it("chats and sessions are listed latest first, and by age where times are equal [ROWS-1]", async () => {
    await say(store, [
      said(1, 1000),
      said(2, 3000, { chat: "api-y", session: "s2" }),
      said(3, 3000, { chat: "api-z", session: "s3" }),
      said(4, 2000, { session: "s4" }),
      said(5, 9000, { agent: "b", session: "s5" }),
    ]);
    const chats = await store.history.chats("a");
    expect(chats.map((chat) => [chat.chatId, chat.messageCount, chat.lastActivity])).toEqual([
      ["api-z", 1, 3000],
      ["api-y", 1, 3000],
      ["api-x", 2, 2000],
    ]);
    expect((await store.history.sessions("a")).map(({ uuid }) => uuid)).toEqual(["s3", "s2", "s4", "s1"]);
    expect(await store.history.sessions("a", "api-x")).toMatchObject([
      { uuid: "s4", chatId: "api-x", name: "Name of s4", createdAt: 2000, lastMessage: "m4" },
      { uuid: "s1", messageCount: 1, imageConfig: null, model: null },
    ]);
    expect(await store.history.hasChat("a", "api-y")).toBe(true);
    expect(await store.history.hasChat("b", "api-y")).toBe(false);
  });

  it("days are those of the viewer, from the first instant of time on [ROWS-1]", async () => {
    await say(store, [
      said(1, 0),
      said(2, DAY - 1),
      said(3, 3 * DAY),
      said(4, 3 * DAY + 5, { session: "s2" }),
    ]);
    const days = (more = {}) => store.history.days({ ...at, from: 0, to: 10 * DAY, ...more });
    expect(await days()).toEqual(["1970-01-01", "1970-01-04"]);
    expect(await days({ tz_offset: -1440 })).toEqual(["1969-12-31", "1970-01-03"]);
    expect(await days({ tz_offset: 1440 })).toEqual(["1970-01-02", "1970-01-05"]);
    expect(await days({ tz_offset: 1 })).toEqual(["1970-01-01", "1970-01-02", "1970-01-04"]);
    expect(await days({ session_id: "s2" })).toEqual(["1970-01-04"]);
    expect(await days({ to: 0 })).toEqual([]);
  });

  it("a file counts as referred to by a message, or by the settings of a session [ROWS-1]", async () => {
    await say(store, [said(1, 1)]);
    expect(await store.media.isNamed("a", "2026/x.png")).toBe(false);
    const image = { sql: "UPDATE sessions SET image_config = ?", params: ['{"image_ref":"2026/x.png"}'] };
    await store.commit(change(image));
    expect(await store.media.isNamed("a", "2026/x.png")).toBe(true);
    expect(await store.media.isNamed("a", "2026/y.png")).toBe(false);
    expect(await store.media.isNamed("b", "2026/x.png")).toBe(false);
    // No character of a name stands for others.
    for (const name of ["2026/_.png", "2026/%", "%", "2026/x.pn!g"]) {
      expect([name, await store.media.isNamed("a", name)]).toEqual([name, false]);
    }
    const odd = "2026/100%_!.png";
    await store.commit(
      change({ sql: "UPDATE sessions SET video_config = ?", params: [JSON.stringify({ video_ref: odd })] }),
    );
    expect(await store.media.isNamed("a", odd)).toBe(true);
  });
});
