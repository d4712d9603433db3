import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { NewOutboxRow, OutboxRow, Store } from "../../../packages/gateway/src/store/index.ts";
import { drivers } from "./drivers.ts";

const PLACE = { agentId: "a", channel: "botchat", account: "" };
const OTHER = { ...PLACE, account: "second" };
const row = (key: string, more: Partial<NewOutboxRow> = {}): NewOutboxRow => ({
  place: PLACE,
  chatId: "c",
  inbox: null,
  purpose: "reply",
  key,
  target: '{"chatId":"c"}',
  content: `{"text":"${key}"}`,
  ...more,
});

describe.each(drivers)("the outbox in $driver", ({ open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const next = () => store.outbox.next(PLACE, "c");
  const byKey = async (key: string): Promise<OutboxRow | undefined> => {
    for (let id = 1; id < 20; id++) {
      const found = await store.outbox.byId("a", id);
      if (found?.key === key) return found;
    }
    return undefined;
  };
  /** Messages that are being sent. */
  const sending = async (...keys: readonly string[]) => {
    const rows: OutboxRow[] = [];
    for (const key of keys) rows.push((await store.commit(store.outbox.addSending(row(key), 10)))[0]);
    return rows;
  };

  it("takes a time with a fraction as a whole one, as all numbers but a context's share [STORE-NUMBERS-1]", async () => {
    const [sent] = await sending("one");
    expect(await store.commit(store.outbox.again(sent!.id, { at: 1234.56, reason: "later" }))).toEqual([
      true,
    ]);
    expect(await next()).toMatchObject({ key: "one", next_at: 1235 });
    const uuid = "11111111-1111-4111-8111-111111111111";
    const session = { uuid, agentId: "a", chatId: "c", name: "n", unnamed: true, now: 1.5 };
    await store.commit(
      store.sessions.add(session),
      store.sessions.settle(uuid, { runtimeState: null, contextPercent: 12.25 }),
    );
    expect(await store.sessions.find("a", "c", uuid)).toMatchObject({
      context_percent: 12.25,
      created_at: 2,
    });
  });

  it("gives a chat's messages one after another, oldest first [CH-OUTBOX-1]", async () => {
    await store.commit(
      store.outbox.add([row("one"), row("two")], 10),
      store.outbox.add([row("three", { chatId: "d" }), row("four", { place: OTHER })], 11),
    );
    const first = (await next())!;
    expect(first).toMatchObject({
      key: "one",
      state: "pending",
      attempts: 0,
      created_at: 10,
      sending_at: null,
    });
    const mark = () => store.commit(store.outbox.sending(first.id, 20));
    expect(await Promise.all([mark(), mark()])).toEqual([[true], [false]]);
    expect(await next()).toMatchObject({ key: "two" });
    expect(await store.outbox.beingSent()).toMatchObject([{ key: "one", attempts: 1, sending_at: 20 }]);
    expect(await store.outbox.queued(PLACE)).toBe(3);
    const chats = await store.outbox.waitingChats();
    expect(chats.map(({ account, chat_id }) => `${account}/${chat_id}`).toSorted()).toEqual([
      "/c",
      "/d",
      "second/c",
    ]);
    expect(await store.commit(store.outbox.unsent(first.id), store.outbox.unsent(first.id))).toEqual([
      true,
      false,
    ]);
    expect(await next()).toMatchObject({ key: "one", attempts: 1, next_at: 0 });
  });

  it("settles what is open, once, and keeps content that may not have arrived [CH-OUTBOX-2]", async () => {
    const [sent, failed] = await sending("sent", "failed");
    const settle = (id: number, state: "sent" | "failed" | "unknown") =>
      store.outbox.settle(id, state, 30, { providerId: "p", reason: "r" });
    expect(
      await store.commit(settle(sent!.id, "sent"), settle(sent!.id, "unknown"), settle(failed!.id, "failed")),
    ).toEqual([true, false, true]);
    expect(await byKey("sent")).toMatchObject({
      state: "sent",
      content: null,
      provider_id: "p",
      settled_at: 30,
    });
    expect(await byKey("failed")).toMatchObject({
      state: "failed",
      content: '{"text":"failed"}',
      reason: "r",
    });
    expect(await store.outbox.lastSentAt(PLACE)).toBe(30);
    expect(await store.outbox.lastSentAt(OTHER)).toBeUndefined();
    const again = store.outbox.again(failed!.id, { at: 1, reason: "r" });
    expect(await store.commit(again)).toEqual([false]);
    await store.commit(store.outbox.forget(31));
    expect(await byKey("sent")).toBeUndefined();
  });

  it("puts an attempt back with what it learnt; the first uncertain one counts [CH-OUTBOX-2]", async () => {
    const [only] = await sending("one");
    const { outbox } = store;
    const again = (more: object) => outbox.again(only!.id, { at: 50, reason: "Busy.", ...more });
    expect(await store.commit(again({ content: "{}", uncertainAt: 10 }))).toEqual([true]);
    expect(await next()).toMatchObject({ next_at: 50, reason: "Busy.", content: "{}", uncertain_at: 10 });
    await store.commit(outbox.sending(only!.id, 60), again({ uncertainAt: 60 }));
    expect(await next()).toMatchObject({ attempts: 2, content: "{}", uncertain_at: 10 });
  });

  it("leaves what a crash interrupted uncertain, and ends what no one waits for [CH-OUTBOX-3]", async () => {
    const { outbox } = store;
    await store.commit(
      outbox.addSending(row("reply"), 10),
      outbox.addSending(row("direct", { purpose: "direct" }), 10),
      outbox.add([row("waits")], 10),
    );
    await store.commit(outbox.leaveUncertain(20, "Stopped."));
    expect(await byKey("reply")).toMatchObject({ state: "pending", uncertain_at: 10, reason: "Stopped." });
    expect(await byKey("direct")).toMatchObject({ state: "unknown", settled_at: 20 });
    expect(await byKey("waits")).toMatchObject({ state: "pending", uncertain_at: null, reason: null });
    expect(await outbox.beingSent()).toEqual([]);
    expect(await outbox.unknown(PLACE)).toBe(1);
  });

  it("lets a receipt settle what is uncertain in that place, and nothing else [CH-OUTBOX-3]", async () => {
    const { outbox } = store;
    const [unknown, underWay] = await sending("unknown", "under way");
    await store.commit(outbox.settle(unknown!.id, "unknown", 20, {}), outbox.add([row("waits")], 10));
    const uncertain = (key: string, place = PLACE) => outbox.uncertain(place, key);
    expect(await uncertain("unknown")).toMatchObject([{ id: unknown!.id, state: "unknown" }]);
    expect(await uncertain("under way")).toMatchObject([{ id: underWay!.id, state: "sending" }]);
    expect(await uncertain("waits")).toEqual([]);
    expect(await uncertain("unknown", OTHER)).toEqual([]);
    await store.commit(
      outbox.arrived(OTHER, "unknown", "p0", 30),
      outbox.refused(PLACE, "under way", "p0", 30, "No."),
      outbox.arrived(PLACE, "under way", "p1", 30),
      outbox.arrived(PLACE, "waits", "p2", 30),
      outbox.refused(PLACE, "unknown", "p3", 30, "No."),
      outbox.bounced(PLACE, "p1", "Gone."),
    );
    expect(await byKey("unknown")).toMatchObject({ state: "failed", provider_id: "p3", reason: "No." });
    expect(await byKey("under way")).toMatchObject({ state: "failed", provider_id: "p1", reason: "Gone." });
    expect(await byKey("waits")).toMatchObject({ state: "pending", provider_id: null });
    expect(underWay!.id).toBeGreaterThan(unknown!.id);
  });

  it("sends a message again once, with its key and behind what waits [CH-OUTBOX-4]", async () => {
    const { outbox } = store;
    const [old] = await sending("one");
    await store.commit(
      outbox.settle(old!.id, "unknown", 20, { reason: "Broke." }),
      outbox.add([row("two")], 21),
    );
    expect(await outbox.unsettled("a", { limit: 9 })).toMatchObject([{ id: old!.id, reason: "Broke." }]);
    expect(await outbox.unsettled("a", { state: "failed", limit: 9 })).toEqual([]);
    const again = () => outbox.sendAgain(old!.id, { target: "{}", now: 30 });
    expect(await store.commit(again(), again())).toEqual([true, false]);
    expect(await outbox.byId("a", old!.id)).toMatchObject({ content: null, reason: "Broke. Sent again." });
    expect(await outbox.unknown(PLACE)).toBe(0);
    const two = (await next())!;
    await store.commit(outbox.settle(two.id, "sent", 31, {}));
    expect(await next()).toMatchObject({
      key: "one",
      target: "{}",
      content: '{"text":"one"}',
      created_at: 30,
    });
    expect(await outbox.byId("b", old!.id)).toBeUndefined();
  });

  it("takes no reply to a message that was settled meanwhile [CH-OUTBOX-1]", async () => {
    const came = (eventId: string) => {
      const ids = { messageId: undefined, messageKey: undefined, senderId: "u" };
      const message = {
        place: PLACE,
        eventId,
        chatId: "c",
        message: "{}",
        state: "waiting" as const,
        ...ids,
      };
      return store.inbox.add(message, 10);
    };
    const [open, settled] = (await store.commit(came("one"), came("two"))) as unknown as [number, number];
    await store.commit(store.inbox.settle([settled], "done", 20, null));
    await store.commit(
      store.outbox.add([row("late", { inbox: settled }), row("in time", { inbox: open })], 30),
    );
    expect([await store.outbox.hasReply(settled), await store.outbox.hasReply(open)]).toEqual([false, true]);
    expect(await next()).toMatchObject({ key: "in time", inbox: open });
  });

  it("finds by its provider's id what that provider accepted in a place, and nothing else [CH-OUTBOX-3]", async () => {
    const [sent, failed, waits] = await sending("sent", "failed", "waits");
    const settle = (id: number, state: "sent" | "failed", providerId: string) =>
      store.outbox.settle(id, state, 30, { providerId });
    await store.commit(settle(sent!.id, "sent", "p1"), settle(failed!.id, "failed", "p2"));
    const accepted = async (place: typeof PLACE, providerId: string) =>
      (await store.outbox.accepted(place, providerId)).map(({ id }) => id);
    expect(await accepted(PLACE, "p1")).toEqual([sent!.id]);
    expect(await accepted(PLACE, "p2")).toEqual([]);
    for (const other of [OTHER, { ...PLACE, agentId: "b" }, { ...PLACE, channel: "sigchat" }]) {
      expect(await accepted(other, "p1")).toEqual([]);
    }
    expect(waits!.state).toBe("sending");
  });

  it("gives up what waits, of an agent or from before a time [CH-OUTBOX-5]", async () => {
    const { outbox } = store;
    await sending("under way");
    await store.commit(
      outbox.add([row("old")], 10),
      outbox.add([row("new")], 20),
      outbox.add([row("of another", { place: { ...PLACE, agentId: "b" } })], 20),
    );
    await store.commit(outbox.abandon({ before: 20 }, 30, "Too long."));
    expect([await byKey("old"), await byKey("new")]).toMatchObject([
      { state: "failed", reason: "Too long.", settled_at: 30 },
      { state: "pending" },
    ]);
    await store.commit(outbox.abandon({ agentId: "a" }, 40, "Removed."));
    expect([await byKey("under way"), await byKey("new")]).toMatchObject([
      { state: "sending" },
      { state: "failed", reason: "Removed." },
    ]);
    expect(await outbox.queued({ ...PLACE, agentId: "b" })).toBe(1);
    await store.commit(outbox.abandon({ agentId: "b" }, 40, "Removed."));
    const open = [outbox.hasOpen(), outbox.hasOpen("a"), outbox.hasOpen("b")];
    expect(await Promise.all(open)).toEqual([true, true, false]);
  });

  it("knows a turn's progress message, its reply, and a handshake by its key [CH-OUTBOX-6]", async () => {
    const { outbox } = store;
    await store.commit(
      outbox.add([row("shown", { inbox: 7, purpose: "progress" })], 10),
      outbox.add([row("hello", { purpose: "handshake" })], 10),
    );
    const shown = (await outbox.progressOf(7))!;
    expect(shown.key).toBe("shown");
    expect(await outbox.hasReply(7)).toBe(false);
    await store.commit(
      outbox.settle(shown.id, "sent", 20, { providerId: "p" }),
      outbox.dropProgress(7),
      outbox.loseProgress(7),
      outbox.add([row("reply", { inbox: 7 })], 20),
    );
    expect(await outbox.progressOf(7)).toMatchObject({ state: "sent", provider_id: null });
    expect(await outbox.hasReply(7)).toBe(true);
    expect(await outbox.handshake(PLACE, "hello")).toMatchObject({ purpose: "handshake" });
    expect(await outbox.handshake(PLACE, "reply")).toBeUndefined();
    await store.commit(
      outbox.add([row("early", { inbox: 8, purpose: "progress" })], 10),
      outbox.dropProgress(8),
    );
    expect(await outbox.progressOf(8)).toBeUndefined();
  });
});
