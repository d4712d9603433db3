import { afterAll, beforeAll, expect, it } from "vitest";
import { imageParams, videoParams } from "../../../packages/contract/src/schemas/messages.ts";
import type { Page } from "../../../packages/gateway/src/history/index.ts";

import { newId, openStore, type Store } from "./store.ts";

const MIB = 1024 * 1024;
const session = newId();
/** 40 MiB in twelve messages, oldest first; the newest are short. */
const texts = [
  "first",
  "é".repeat(6 * MIB),
  ...Array.from({ length: 6 }, (_, n) => `${n}`.repeat(3 * MIB)),
  "a".repeat(9 * MIB),
  "b",
  "c",
  "last",
];
const numbered = (entries: readonly string[]) =>
  entries.map((content, n) => ({
    session,
    content,
    ts: 1000 + n,
    role: n % 2 ? ("assistant" as const) : ("user" as const),
  }));

let store: Store;
beforeAll(async () => {
  store = openStore();
  await store.add("a", "api-x", numbered(texts));
});
afterAll(() => store.close());

it.each(["asc", "desc"] as const)(
  "pages of long texts are cut short, and lead on (%s) [HARD-TEXT-1]",
  async (order) => {
    const seen: string[] = [];
    let cursor = {};
    for (;;) {
      const page: Page = await store.history.page({
        agentId: "a",
        chatId: "api-x",
        limit: 100,
        order,
        ...cursor,
      });
      const sizes = page.messages.map(({ content }) => Buffer.byteLength(content));
      expect(sizes.length === 1 || sizes.reduce((sum, size) => sum + size, 0) <= 8 * MIB).toBe(true);
      seen.push(...page.messages.map(({ content }) => content));
      if (!page.hasMore) break;
      const [ts, id] = [page.nextCursor!, page.nextCursorId!];
      cursor = order === "asc" ? { after: ts, after_id: id } : { before: ts, before_id: id };
    }
    expect(seen.length).toBe(texts.length);
    expect((order === "asc" ? seen : seen.reverse()).every((text, n) => text === texts[n])).toBe(true);
  },
);

it("a new process is told the newest that fits, and the beginning of a text that does not [HARD-TEXT-2]", async () => {
  const { sessions, messages } = store.rows;
  const row = (await sessions.find("a", "api-x", session))!;
  const ids = await messages.saidAfter(row.id, 0);
  const told = async (last: number) =>
    (await messages.recent(row.id, 50, { after: 0, upto: ids[last]! })).map(({ text }) => text);
  expect(await told(11)).toEqual(["b", "c", "last"]);
  const [alone, ...rest] = await told(8);
  expect(rest).toEqual([]);
  expect(alone!.startsWith("aaa")).toBe(true);
  expect(alone!.endsWith("a\n\n[The rest of this message was left out.]")).toBe(true);
  expect(alone!.length).toBeLessThan(4 * MIB);
  expect(await told(0)).toEqual(["first"]);
});

it("hints, which every list of sessions shows, are no longer than a message [HARD-TEXT-3]", () => {
  for (const schema of [imageParams(), videoParams()]) {
    expect(schema.safeParse({ image_ref: "x".repeat(10_000) }).success).toBe(true);
    expect(schema.safeParse({ image_ref: "x".repeat(10_001) }).success).toBe(false);
  }
});
