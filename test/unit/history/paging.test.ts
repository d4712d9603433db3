import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PageQuery } from "../../../packages/gateway/src/store/index.ts";
import { type Entry, newId, openStore, type Store } from "./store.ts";

const agentId = "a";
const chatId = "api-one";
const sessions = [newId(), newId(), newId()];

describe("paging", () => {
  let store: Store;
  let entries: Entry[];
  const page = async (query: Partial<PageQuery>) =>
    store.history.page({ agentId, chatId, limit: 50, order: "desc", ...query });

  beforeAll(async () => {
    store = openStore();
    // Many messages share a time, and ids do not follow it.
    entries = Array.from({ length: 400 }, (_, i) => ({
      session: sessions[i % 3]!,
      content: `m${i}`,
      ts: 1000 + ((i * 31) % 23),
      role: i % 2 ? "assistant" : "user",
    }));
    await store.add(agentId, chatId, entries);
    await store.add(agentId, "api-two", [{ session: newId(), content: "elsewhere", ts: 1 }]);
  });
  afterAll(() => store.close());

  const all = (order: "asc" | "desc", session?: string) => {
    const rows = entries
      .map((entry, index) => ({ ...entry, index }))
      .filter((entry) => !session || entry.session === session)
      .sort((a, b) => a.ts - b.ts || a.index - b.index);
    return (order === "asc" ? rows : rows.reverse()).map((row) => row.content);
  };

  it("with composite cursors returns each message exactly once, in order, in both directions", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("asc" as const, "desc" as const),
        fc.integer({ min: 1, max: 150 }),
        fc.option(fc.constantFrom(...sessions), { nil: undefined }),
        async (order, limit, session_id) => {
          const seen: string[] = [];
          let cursor: Partial<PageQuery> = {};
          for (;;) {
            const got = await page({ ...cursor, order, limit, session_id });
            seen.push(...got.messages.map((message) => message.content));
            expect(got.messages.length <= limit).toBe(true);
            if (!got.hasMore) {
              expect([got.nextCursor, got.nextCursorId]).toEqual([null, null]);
              break;
            }
            expect(got.nextCursor).toBe(got.messages.at(-1)!.ts);
            expect(got.nextCursorId).toBe(got.messages.at(-1)!.id);
            const [ts, id] = [got.nextCursor!, got.nextCursorId!];
            cursor = order === "asc" ? { after: ts, after_id: id } : { before: ts, before_id: id };
          }
          expect(seen).toEqual(all(order, session_id));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("with the timestamp alone drops the rows that share the boundary", async () => {
    const first = await page({ limit: 10 });
    const next = await page({ before: first.nextCursor!, limit: 100 });
    expect(next.messages.every((message) => message.ts < first.nextCursor!)).toBe(true);
    const forward = await page({ after: 1005, order: "asc" });
    expect(forward.messages[0]?.ts).toBe(1006);
  });

  it("takes both bounds together, in either order", async () => {
    for (const order of ["asc", "desc"] as const) {
      const got = await page({ after: 1003, before: 1006, order, limit: 1000 });
      expect(new Set(got.messages.map((message) => message.ts))).toEqual(new Set([1004, 1005]));
      expect(got.messages.length).toBe(entries.filter(({ ts }) => ts === 1004 || ts === 1005).length);
    }
  });

  it("of an unknown chat, an unknown session or another chat's session is empty", async () => {
    const nothing = { messages: [], hasMore: false, nextCursor: null, nextCursorId: null };
    expect(await page({ chatId: "api-none" })).toEqual(nothing);
    expect(await page({ session_id: newId() })).toEqual(nothing);
    expect(await page({ chatId: "api-two", session_id: sessions[0] })).toEqual(nothing);
  });

  it("shows role, content, ts and sessionId", async () => {
    const { messages } = await page({ limit: 1 });
    const [record] = messages;
    expect(record).toMatchObject({ ts: 1022, content: expect.any(String), sessionId: expect.any(String) });
    expect(["user", "assistant"]).toContain(record!.role);
  });
});

describe("active days", () => {
  let store: Store;
  const at = (iso: string) => Date.parse(iso);
  const days = (from: string, to: string, rest = {}) =>
    store.history.activeDays({ agentId, chatId, from: at(from), to: at(to), ...rest });

  beforeAll(async () => {
    store = openStore();
    const times = [
      "2026-01-01T00:00:00Z",
      "2026-01-01T23:30:00Z",
      "2026-01-03T12:00:00Z",
      "2026-02-28T23:59:59.999Z",
    ];
    await store.add(
      agentId,
      chatId,
      times.map((ts, i) => ({ session: sessions[i % 2]!, content: "x", ts: at(ts) })),
    );
  });
  afterAll(() => store.close());

  it("are distinct and ascending", async () => {
    expect(await days("2026-01-01T00:00:00Z", "2026-12-31T00:00:00Z")).toEqual([
      "2026-01-01",
      "2026-01-03",
      "2026-02-28",
    ]);
  });
  it("fall into the viewer's local time while the window is matched in UTC", async () => {
    const window = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"] as const;
    expect(await days(...window, { tz_offset: 60 })).toEqual(["2026-01-01", "2026-01-02"]);
    expect(await days(...window, { tz_offset: -60 })).toEqual(["2025-12-31", "2026-01-01"]);
    expect(await days("2026-01-01T00:00:00.001Z", "2026-01-01T23:30:00Z")).toEqual([]);
  });
  it("can be those of one session", async () => {
    const window = ["2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"] as const;
    expect(await days(...window, { session_id: sessions[1] })).toEqual(["2026-01-01", "2026-02-28"]);
    expect(await days(...window, { session_id: newId() })).toEqual([]);
  });
  it("of an empty or inverted window are none", async () => {
    expect(await days("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")).toEqual([]);
    expect(await days("2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z")).toEqual([]);
  });
});
