import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kinds, newId, type Store } from "./store.ts";

const AGENT = "a";
const CHAT = "api-one";
const thinking = (chars: number) => [{ type: "thinking" as const, text: "x".repeat(chars) }];

describe.each(kinds)("steps in $kind", ({ open }) => {
  let store: Store;
  let session: string;
  const page = (query: object) =>
    store.history.page({ agentId: AGENT, chatId: CHAT, limit: 50, order: "asc", include: "steps", ...query });
  const stored = async () =>
    (await store.read<{ n: number }>("SELECT count(*) AS n FROM message_steps"))[0]!.n;

  beforeAll(async () => {
    store = await open();
    session = newId();
    const { rows } = store;
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
    expect(await stored()).toBe(12);
    await store.rows.removal.olderThan(AGENT, 6, new AbortController().signal);
    expect(await stored()).toBe(7);
    await store.rows.commit(store.history.clear(await store.sessionRow(session)));
    expect(await stored()).toBe(0);
  });
});
