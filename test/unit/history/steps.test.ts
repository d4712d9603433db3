import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createStore } from "../../fixtures/memory-db.ts";

import { newId, openStore, type Store, sessionRow } from "./store.ts";

const AGENT = "a";
const CHAT = "api-one";
const thinking = (chars: number) => [{ type: "thinking" as const, text: "x".repeat(chars) }];

describe("steps in the store", () => {
  let store: Store;
  let session: string;
  const page = (query: object) =>
    store.history.page({ agentId: AGENT, chatId: CHAT, limit: 50, order: "asc", include: "steps", ...query });
  const stored = () => store.db.all<{ n: number }>("SELECT count(*) AS n FROM message_steps")[0]!.n;

  beforeAll(async () => {
    store = openStore();
    session = newId();
    const rows = createStore(store.db);
    const named = { uuid: session, agentId: AGENT, chatId: CHAT, name: "A name", unnamed: false, now: 1 };
    await rows.commit(rows.sessions.add(named));
    for (let ts = 1; ts <= 12; ts++) {
      const steps = thinking(ts <= 10 ? 1_000_000 : 10);
      const message = { role: "assistant" as const, content: `m${ts}`, ts, extra: {}, steps };
      await rows.commit(rows.messages.add({ id: rows.ids.message(), session, ...message }));
    }
  });
  afterAll(() => store.close());

  it("fill a page only as far as it can carry them; its cursor leads on through all messages [STEP-1]", async () => {
    const seen: string[] = [];
    let pages = 0;
    for (let after: object | undefined = {}; after; pages++) {
      const { messages, hasMore, nextCursor, nextCursorId } = await page(after);
      expect(JSON.stringify(messages).length).toBeLessThan(4_500_000);
      seen.push(...messages.map(({ content }) => content));
      after = hasMore ? { after: nextCursor, after_id: nextCursorId } : undefined;
    }
    expect(pages).toBe(3);
    expect(seen).toEqual(Array.from({ length: 12 }, (_, index) => `m${index + 1}`));
  });

  it("go with their messages: by age, and when a session is cleared [FAIL-4]", async () => {
    expect(stored()).toBe(12);
    await store.rows.removal.olderThan(AGENT, 6, new AbortController().signal);
    expect(stored()).toBe(7);
    await createStore(store.db).commit(store.history.clear(sessionRow(store.db, session)));
    expect(stored()).toBe(0);
  });
});
