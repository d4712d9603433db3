import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cleanText } from "../../../packages/gateway/src/store/clean.ts";
import { fold } from "../../../packages/gateway/src/store/fold.ts";
import { type Entry, kinds, newId, type Store } from "./store.ts";

/** Characters that are operators somewhere, letters with and without case, and ones that SQLite finds difficult. */
const ALPHABET = [
  ..."abAB  éÉßẞİıςσΣ",
  ..."กขสวัดี็ไม่",
  ..."日本語東京中国かガ",
  ..."\"*()^:-+%_\\'{}[]~&|,.;<>=/?#",
  "AND",
  "OR",
  "NOT",
  "NEAR(",
  "😀",
  "👩‍👩‍👧",
  "𠮷",
  "\0",
  "\ufffe",
  "\n",
  "\ue000",
  "\u0301",
];
const text = (max: number) =>
  fc.array(fc.constantFrom(...ALPHABET), { minLength: 1, maxLength: max }).map((parts) => parts.join(""));

const agent = "a";
const chat = "api-one";

describe.each(kinds)("search in $kind", ({ kind, open }) => {
  let store: Store;
  let entries: Entry[];
  const sessions = [newId(), newId()];

  /** What search must find, by looking at every message. */
  const naive = (q: string, session?: string) =>
    entries
      .map((entry, index) => ({ ...entry, index }))
      .filter(
        (entry) =>
          fold(cleanText(entry.content)).includes(fold(cleanText(q))) &&
          (!session || entry.session === session),
      )
      .sort((a, b) => b.ts - a.ts || b.index - a.index);

  const check = async (q: string, limit: number, offset: number, session?: string) => {
    const found = await store.history.search({
      agentId: agent,
      chatId: chat,
      q,
      limit,
      offset,
      session_id: session,
    });
    const wanted = naive(q, session);
    expect(found.total).toBe(wanted.length);
    expect(found.messages.map(({ content, ts, sessionId }) => ({ content, ts, session: sessionId }))).toEqual(
      wanted
        .slice(offset, offset + limit)
        .map(({ content, ts, session }) => ({ content: cleanText(content), ts, session })),
    );
  };

  /** Random messages with random times: more than the index leaves to be scanned. */
  const fill = async (count: number, ordered: boolean) => {
    const texts = fc.sample(text(30), count);
    entries = texts.map((content, i) => ({
      session: sessions[i % 2]!,
      content,
      ts: ordered ? 1000 + Math.floor(i / 3) : 1000 + ((i * 7919) % 97),
    }));
    await store.add(agent, chat, entries);
    await store.add(
      agent,
      "api-other",
      texts.slice(0, 50).map((content) => ({ session: "s-other", content, ts: 5 })),
    );
    await store.add(
      "b",
      chat,
      texts.slice(0, 50).map((content) => ({ session: "s-b", content, ts: 5 })),
    );
  };

  describe.each([
    { name: "rows that are not indexed yet", count: 90, ordered: true, indexed: false },
    { name: "indexed rows", count: 900, ordered: true, indexed: true },
    { name: "indexed rows whose times are out of order", count: 900, ordered: false, indexed: true },
  ])("$name", ({ count, ordered, indexed }) => {
    beforeAll(async () => {
      store = await open();
      await fill(count, ordered);
      await store.indexed();
      if (kind === "SQLite") {
        const queue = await store.read<{ n: number }>("SELECT count(*) AS n FROM search_queue");
        expect(queue[0]!.n < count).toBe(indexed);
      }
    });
    afterAll(() => store.close());

    it("finds what a look at every message finds, for any text, page by page [STORE-SAME-1]", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(
            text(6),
            fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 12 })).map(([which, from, length]) => {
              const chars = [...entries[which % entries.length]!.content];
              const start = from % chars.length;
              return chars.slice(start, start + length).join("");
            }),
          ),
          fc.integer({ min: 1, max: 30 }),
          fc.nat(40),
          fc.boolean(),
          (q, limit, offset, one) => check(q, limit, offset, one ? sessions[0] : undefined),
        ),
        { numRuns: kind === "SQLite" ? 400 : 200 },
      );
    });

    it("new messages are found at once", async () => {
      const entry = { session: sessions[0]!, content: "brand new ข้อความใหม่", ts: 500 };
      await store.add(agent, chat, [entry]);
      entries.push(entry);
      await check("brand new", 5, 0);
      await check("ข้อ", 5, 0);
      await check("w ข", 5, 0);
    });
  });

  it("a message that is stored after ones with higher ids is found, indexed or not, in its place [MSGID-2]", async () => {
    store = await open();
    const batch = (from: number, ts: number): Entry[] =>
      Array.from({ length: 300 }, (_, i) => ({
        session: sessions[0]!,
        content: `needle ${from + i}`,
        ts: ts + i,
        id: from + i,
      }));
    entries = [];
    for (const [from, ts] of [
      [5000, 1000],
      [1000, 2000],
      [3000, 500],
    ]) {
      const added = batch(from!, ts!);
      entries.push(...added);
      await store.add(agent, chat, added);
      await check("needle", 20, 0);
      await store.indexed();
      await check("needle", 20, 0);
      await check("needle", 50, entries.length - 30);
      await check("ne", 20, 290);
    }
    await store.history.emptySession(agent, await store.sessionRow(sessions[0]!));
    entries = [];
    await check("needle", 20, 0);
    await store.close();
  });

  describe("after removal", () => {
    beforeAll(async () => {
      store = await open();
      await fill(900, true);
      await store.indexed();
    });
    afterAll(() => store.close());

    it("a cleared session is found no more, its counters are zero, the others stay", async () => {
      const row = await store.sessionRow(sessions[0]!);
      await store.rows.commit(store.history.clear(row));
      entries = entries.filter((entry) => entry.session !== sessions[0]);
      for (const q of ["a", "ab", "日本", "ก", "AND", "東京中", '"', "zz"]) await check(q, 100, 0);
      const counts = await store.read("SELECT message_count, last_message FROM sessions WHERE id = ?", [row]);
      expect(counts).toEqual([{ message_count: 0, last_message: null }]);
      expect((await store.history.chats(agent))[0]?.messageCount).toBe(entries.length);
    });

    it("a session can be emptied in slices", async () => {
      await store.history.emptySession(agent, await store.sessionRow(sessions[1]!));
      entries = [];
      for (const q of ["a", "AND", "日"]) await check(q, 10, 0);
      expect((await store.history.chats(agent))[0]?.messageCount).toBe(0);
      expect(
        (await store.history.search({ agentId: "b", chatId: chat, q: "a", limit: 1, offset: 0 })).total,
      ).toBeGreaterThan(0);
    });
  });

  describe("very long messages", () => {
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());

    it("are found like any other, in their place", async () => {
      entries = Array.from({ length: 500 }, (_, i) => ({
        session: sessions[0]!,
        content: i % 100 === 50 ? `${"x".repeat(70_000)}needle` : `needle ${i}`,
        ts: i,
      }));
      await store.add(agent, chat, entries);
      await store.indexed();
      for (const [limit, offset] of [
        [10, 0],
        [30, 40],
        [5, 498],
        [5, 500],
      ])
        await check("needle", limit!, offset!);
      await check("xn", 10, 0);
    });
  });

  it.each([
    { count: 10_050, ordered: true },
    { count: 5_100, ordered: false },
  ])(
    "counts each of $count hits, and pages to the last one (in order: $ordered) [HIST-7]",
    async ({ count, ordered }) => {
      const own = await open();
      await own.add(
        agent,
        chat,
        Array.from({ length: count }, (_, i) => ({
          session: sessions[0]!,
          content: `needle ${i}`,
          ts: 1000 + (ordered ? i : (i * 7919) % 97),
        })),
      );
      await own.indexed();
      const query = { agentId: agent, chatId: chat, q: "needle", session_id: undefined };
      for (const offset of [0, count - 20, count]) {
        const found = await own.history.search({ ...query, limit: 20, offset });
        expect([found.total, found.messages.length]).toEqual([count, offset === count ? 0 : 20]);
      }
      await own.close();
    },
    60_000,
  );

  it("a chat or session that does not exist has nothing", async () => {
    const empty = await open();
    const page = await empty.history.search({ agentId: "a", chatId: "none", q: "x", limit: 1, offset: 0 });
    expect(page).toEqual({ messages: [], total: 0 });
    await empty.close();
  });
});
