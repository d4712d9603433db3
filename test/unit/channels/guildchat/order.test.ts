import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createEvents } from "../../../../packages/gateway/src/channels/guildchat/events.ts";
import { fetchMissed } from "../../../../packages/gateway/src/channels/guildchat/missed.ts";
import { readPosition } from "../../../../packages/gateway/src/channels/guildchat/position.ts";
import type { Api, Result } from "../../../../packages/gateway/src/channels/guildchat/rest.ts";
import type { InboundMessage } from "../../../../packages/gateway/src/channels/types.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";

const BOT = { id: "900000000000000001", application: "900000000000000009" };
const LIMITED: Result = { kind: "limited", afterMs: 100 };
const BROKEN: Result = { kind: "broken", error: new Error("reset") };

const chatIds = (count: number) => Array.from({ length: count }, (_, n) => String(7_000_000_000 + n));
const message = (chatId: string, id: number) => ({
  id: String(id),
  type: 0,
  channel_id: chatId,
  author: { id: "500000000000000001", username: "ann" },
  content: `${chatId}/${id}`,
});

/** Each chat was left at message 1, and missed 2; Discord answers as `answer` says, otherwise with what was missed. */
function left(chats: string[], answer: (chatId: string, now: number) => Result | undefined) {
  const clock = manualClock(0);
  const stored: string[] = [];
  const attempts = new Map<string, number>();
  const position = readPosition(
    JSON.stringify({
      bot: BOT,
      session: { id: "session", url: "ws://127.0.0.1:1", seq: 1 },
      channels: Object.fromEntries(chats.map((chatId) => [chatId, { last: "1" }])),
      behind: chats,
    }),
  );
  const api: Pick<Api, "call"> = {
    async call(method, path, { query }) {
      const chatId = /^\/channels\/(\d+)\/messages$/.exec(path)?.[1];
      if (method !== "GET" || !chatId) return { kind: "done", body: [] };
      attempts.set(chatId, (attempts.get(chatId) ?? 0) + 1);
      const missed = query?.get("after") === "1" ? [message(chatId, 2)] : [];
      return answer(chatId, clock.now()) ?? { kind: "done", body: missed };
    },
  };
  const receive = async (messages: readonly InboundMessage[]) => {
    for (const { text } of messages) if (!stored.includes(text)) stored.push(text);
  };
  const events = createEvents({
    api: api as Api,
    clock,
    connection: {
      signal: new AbortController().signal,
      alive: () => {},
      rest: () => {},
      receive,
      position: () => undefined,
      savePosition: async () => {},
    },
    position,
    commands: [],
    signal: new AbortController().signal,
    onFailure: () => {},
  });
  /** Message 3 of each chat comes over the socket. */
  const live = () => {
    for (const [n, chatId] of chats.entries()) {
      events.take({ type: "MESSAGE_CREATE", seq: 2 + n, data: message(chatId, 3) });
    }
  };
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += 100) {
      for (let turns = 0; turns < 10; turns++) await turn();
      clock.advance(100);
    }
    for (let turns = 0; turns < 10; turns++) await turn();
  };
  const of = (chatId: string) =>
    stored.filter((text) => text.startsWith(chatId)).map((text) => text.slice(chatId.length + 1));
  return { events, live, pass, of, stored, attempts, position };
}

describe("what was missed comes before what is newer [CH-GUILDCHAT-4]", () => {
  it("while a rate limit lasts longer than its announced waits", async () => {
    const chats = chatIds(13);
    const { live, pass, of, stored } = left(chats, (_, now) => (now < 20_000 ? LIMITED : undefined));
    live();
    await pass(19_000);
    expect(stored).toEqual([]);
    await pass(10_000);
    for (const chatId of chats) expect(of(chatId)).toEqual(["2", "3"]);
  });

  it("in a chat whose turn to be asked came after attempts in vain", async () => {
    const chats = chatIds(20);
    const [first, last] = [chats[0]!, chats.at(-1)!];
    // Attempts at 0, 500 and 2,500 ms bring nothing; the one at 7,500 ms brings all but two chats.
    const { live, pass, of, stored } = left(chats, (chatId, now) =>
      now < 7_000 || (now < 7_900 && (chatId === first || chatId === last)) ? BROKEN : undefined,
    );
    live();
    await pass(7_400);
    expect(stored).toEqual([]);
    await pass(5_000);
    for (const chatId of chats) expect(of(chatId)).toEqual(["2", "3"]);
  });

  it("but in a chat that cannot be asked time and again, which holds up no other", async () => {
    const chats = chatIds(20);
    const silent = chats[3]!;
    const { events, live, pass, of, attempts } = left(chats, (chatId, now) =>
      chatId === silent && now < 60_000 ? BROKEN : undefined,
    );
    live();
    await pass(10_000);
    expect(attempts.get(silent)).toBe(4);
    expect(of(silent)).toEqual(["3"]);
    for (const chatId of chats) if (chatId !== silent) expect(of(chatId)).toEqual(["2", "3"]);
    await pass(60_000);
    events.beat();
    await pass(100);
    expect(of(silent)).toEqual(["3", "2"]);
  });
});

it("stores nothing late once messages could not be stored [CH-GUILDCHAT-5]", async () => {
  const [full, slow] = chatIds(2) as [string, string];
  const { position } = left([full, slow], () => undefined);
  const answered = Promise.withResolvers<Result>();
  const aborted = Promise.withResolvers<void>();
  let over = false;
  const fetched = fetchMissed({
    api: {
      call: async (_method, path, { signal }) => {
        if (!path.includes(slow)) return { kind: "done", body: [message(full, 2)] };
        signal.addEventListener("abort", () => aborted.resolve());
        return answered.promise;
      },
      close: () => {},
    },
    clock: manualClock(),
    position,
    me: { id: BOT.id, roles: {} },
    signal: new AbortController().signal,
    receive: async () => {
      throw new Error("the disk is full");
    },
  }).finally(() => {
    over = true;
  });
  fetched.catch(() => {});
  await aborted.promise;
  for (let turns = 0; turns < 10; turns++) await turn();
  expect(over).toBe(false);
  answered.resolve(BROKEN);
  await expect(fetched).rejects.toThrow("the disk is full");
  expect(position.behind).toEqual([full, slow]);
});
