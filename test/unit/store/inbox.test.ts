import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { change } from "../../../packages/gateway/src/store/change.ts";
import type { NewInboxRow, Store } from "../../../packages/gateway/src/store/index.ts";
import { drivers } from "./drivers.ts";

const PLACE = { agentId: "a", channel: "botchat", account: "" };
const CHAT = { agent_id: "a", channel: "botchat", chat_id: "c" };
const row = (eventId: string, more: Partial<NewInboxRow> = {}): NewInboxRow => ({
  place: PLACE,
  eventId,
  chatId: "c",
  messageId: undefined,
  messageKey: undefined,
  senderId: "u",
  message: `{"text":"${eventId}"}`,
  state: "waiting",
  ...more,
});

describe.each(drivers)("the inbox in $driver", ({ open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const add = async (...rows: readonly NewInboxRow[]) =>
    (await store.commit(...rows.map((one, n) => store.inbox.add(one, 10 + n)))) as Array<number | undefined>;
  const waiting = async (limit = 9) =>
    (await store.inbox.waiting(CHAT, limit)).map(({ event_id }) => event_id);
  const turn = { requestId: "r", sessionId: "s", now: 20, userMessage: 5 };
  const states = async (ids: readonly number[]) =>
    (await Promise.all(ids.map((id) => store.inbox.byId(id)))).map((found) => found?.state);

  it("stores each event of an account once, and each message of a chat [CH-INBOX-1]", async () => {
    const ids = await add(
      row("one"),
      row("one"),
      row("one", { place: { ...PLACE, account: "second" } }),
      row("two", { messageKey: "m" }),
      row("three", { messageKey: "m" }),
      row("four", { messageKey: "m", chatId: "d" }),
    );
    const other = row("four", { messageKey: "m", place: { ...PLACE, agentId: "b", account: "second" } });
    expect(
      await add(other, { ...other, place: { ...other.place, account: "third" }, eventId: "five" }),
    ).not.toContain(undefined);
    expect(ids.map((id) => id !== undefined)).toEqual([true, false, true, true, false, true]);
    expect(await store.inbox.byId(ids[0]!)).toMatchObject({
      event_id: "one",
      state: "waiting",
      received_at: 10,
    });
    expect(await store.inbox.queued(PLACE)).toBe(3);
    expect(await store.inbox.lastReceivedAt(PLACE)).toBe(15);
    expect(await store.inbox.lastReceivedAt({ ...PLACE, agentId: "b" })).toBeUndefined();
    await add(row("five", { place: { ...PLACE, account: "second" } }));
    expect(await store.inbox.lastOf(CHAT)).toMatchObject({ account: "second" });
    expect(await store.inbox.lastOf({ ...CHAT, chat_id: "e" })).toBeUndefined();
  });

  it("keeps what the provider calls a message, where it has a name for it [CH-INBOX-1]", async () => {
    const [named, bare] = await add(row("one", { messageId: "m1" }), row("two"));
    expect([await store.inbox.byId(named!), await store.inbox.byId(bare!)]).toMatchObject([
      { message_id: "m1" },
      { message_id: null },
    ]);
  });

  it("gives a chat's messages oldest first, and commands apart [CH-INBOX-2]", async () => {
    const [, , command] = await add(row("one"), row("two"), row("/stop", { state: "command" }), row("three"));
    expect(await waiting()).toEqual(["one", "two", "three"]);
    expect(await waiting(1)).toEqual(["one"]);
    expect(await store.inbox.commands()).toEqual([{ id: command }]);
    expect(await store.inbox.waitingChats()).toEqual([CHAT]);
  });

  it("hands messages to one turn, or nothing of its unit takes effect [CH-INBOX-3]", async () => {
    const ids = (await add(row("one"), row("two"), row("three"))) as number[];
    const [one, two, three] = ids as [number, number, number];
    await store.commit(store.inbox.startTurn([one, two], turn));
    expect(await store.inbox.ofTurn("r")).toMatchObject([
      { id: one, session: "s", user_message: 5, started_at: 20 },
      { id: two },
    ]);
    const note = store.positions.save(PLACE, "of the unit");
    await expect(store.commit(note, store.inbox.startTurn([two, three], turn))).rejects.toThrow();
    expect(await store.positions.get(PLACE)).toBeUndefined();
    expect(await states(ids)).toEqual(["turn", "turn", "waiting"]);
    await store.commit(store.inbox.putBack([one, three]));
    expect(await waiting()).toEqual(["one", "three"]);
    await store.commit(store.inbox.putBackAll());
    expect(await waiting()).toEqual(["one", "two", "three"]);
  });

  it("settles what is open, once, and keeps no words [CH-INBOX-4]", async () => {
    const ids = (await add(row("one"), row("two"), row("three"))) as number[];
    const settle = (which: number[], note: string) => store.inbox.settle(which, "done", 30, note);
    expect(
      await store.commit(settle(ids.slice(0, 2), "first"), settle(ids, "second"), settle(ids, "third")),
    ).toEqual([true, true, false]);
    const rows = await Promise.all(ids.map((id) => store.inbox.byId(id)));
    expect(rows.map((found) => [found?.state, found?.note, found?.message])).toEqual([
      ["done", "first", null],
      ["done", "first", null],
      ["done", "second", null],
    ]);
  });

  it("gives up what no turn will answer, and forgets what was settled long ago [CH-INBOX-5]", async () => {
    const ids = (await add(
      row("one"),
      row("two"),
      row("/stop", { state: "command" }),
      row("of another", { place: { ...PLACE, agentId: "b" } }),
      row("denied"),
    )) as number[];
    await store.commit(
      store.inbox.startTurn([ids[0]!], turn),
      store.inbox.settle([ids[4]!], "denied", 40, null),
      store.inbox.touch(ids[1]!),
    );
    await store.commit(store.inbox.abandon({ before: 12 }, 40, "Too long."));
    expect(await states(ids)).toEqual(["turn", "done", "command", "waiting", "denied"]);
    await store.commit(store.inbox.abandon({ agentId: "a" }, 50, "Removed."));
    expect(await states(ids)).toEqual(["turn", "done", "done", "waiting", "denied"]);
    await store.commit(store.inbox.forget(41, 0));
    expect(await states(ids)).toEqual(["turn", undefined, "done", "waiting", undefined]);
    await store.commit(store.inbox.settle([ids[3]!], "denied", 60, null), store.inbox.forget(0, 61));
    expect(await states(ids)).toEqual(["turn", undefined, "done", undefined, undefined]);
    const open = [store.inbox.hasOpen(), store.inbox.hasOpen("a"), store.inbox.hasOpen("b")];
    expect(await Promise.all(open)).toEqual([true, true, false]);
  });

  it("knows whether history still has a message [CH-INBOX-3]", async () => {
    await store.commit(
      change({
        sql: "INSERT INTO messages (id, chat, session, role, content, ts) VALUES (3, 1, 1, 0, 'one', 0)",
        params: [],
      }),
    );
    expect(await Promise.all([3, 4].map(store.inbox.hasUserMessage))).toEqual([true, false]);
  });
});
