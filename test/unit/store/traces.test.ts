import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { NewInboxRow, NewOutboxRow, Store } from "../../../packages/gateway/src/store/index.ts";
import { drivers } from "./drivers.ts";

const PLACE = { agentId: "a", channel: "botchat", account: "" };
const OTHER_CHANNEL = { ...PLACE, channel: "sigchat" };
const OTHER_AGENT = { ...PLACE, agentId: "b" };

describe.each(drivers)("traces in $driver", ({ open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  /** Stores a message that came in; answers its number. */
  const came = async (eventId: string, more: Partial<NewInboxRow> = {}) => {
    const row = { chatId: "c", messageId: undefined, messageKey: undefined, senderId: "u", message: "{}" };
    const adding = store.inbox.add({ place: PLACE, eventId, state: "waiting", ...row, ...more }, 10);
    return (await store.commit(adding))[0]!;
  };
  /** Stores a message that went out with an id of its provider; answers its number. */
  const went = async (providerId: string, more: Partial<NewOutboxRow> = {}) => {
    const row = {
      chatId: "c",
      inbox: null,
      purpose: "reply" as const,
      key: "k",
      target: "{}",
      content: "{}",
    };
    const [sent] = await store.commit(store.outbox.addSending({ place: PLACE, ...row, ...more }, 20));
    await store.commit(store.outbox.settle(sent.id, "sent", 30, { providerId }));
    return sent.id;
  };
  const turn = (requestId: string, ...ids: readonly number[]) =>
    store.commit(store.inbox.startTurn(ids, { requestId, sessionId: "s", now: 15, userMessage: 1 }));
  const received = async (id: string, more: { number?: number; channel?: string; agentId?: string } = {}) => {
    const { agentId = "a", number, channel } = more;
    return (await store.traces.received(agentId, { id, number, channel }))?.id;
  };
  const sent = async (id: string, more: { channel?: string; agentId?: string } = {}) =>
    (await store.traces.sent(more.agentId ?? "a", { id, channel: more.channel }))?.id;

  it("find what came in by the ids of its event, its message, its turn and its reply, and by its number [CH-HEALTH-5]", async () => {
    const one = await came("e1", { messageId: "m1" });
    const two = await came("e2", { messageId: "m2" });
    await turn("r1", one);
    await turn("r2", two);
    await went("p1", { inbox: one });
    await went("p2", { inbox: two });
    for (const id of ["e1", "m1", "r1", "p1"]) expect([id, await received(id)]).toEqual([id, one]);
    for (const id of ["e2", "m2", "r2", "p2"]) expect([id, await received(id)]).toEqual([id, two]);
    expect(await received("none", { number: one })).toBe(one);
    expect(await received("none", { number: 999 })).toBeUndefined();
    expect(await received("none")).toBeUndefined();
  });

  it("find only what belongs to the agent, and to the channel where one is named [CH-HEALTH-5]", async () => {
    const mine = await came("e", { messageId: "m" });
    const sigchat = await came("e", { messageId: "m", place: OTHER_CHANNEL });
    const others = await came("e", { messageId: "m", place: OTHER_AGENT });
    await turn("r", others);
    await went("p", { inbox: others, place: OTHER_AGENT });
    for (const id of ["e", "m"]) {
      expect(await received(id)).toBe(sigchat);
      expect(await received(id, { channel: "botchat" })).toBe(mine);
      expect(await received(id, { channel: "teamchat" })).toBeUndefined();
      expect(await received(id, { agentId: "b" })).toBe(others);
    }
    for (const id of ["r", "p"]) expect([id, await received(id)]).toEqual([id, undefined]);
    expect(await received("none", { number: others })).toBeUndefined();
    expect(await received("none", { number: sigchat, channel: "botchat" })).toBeUndefined();
    expect(await received("none", { number: sigchat, channel: "sigchat" })).toBe(sigchat);
  });

  it("take an id for the gateway's own first, and of a provider's for the latest message's [CH-HEALTH-5]", async () => {
    const turned = await came("e1");
    const numbered = await came("e2");
    const early = await came("7");
    const late = await came("e3", { messageId: "7" });
    await turn("7 too", turned);
    expect(await received("7")).toBe(late);
    expect(await received("7", { number: numbered })).toBe(numbered);
    // A request id before a number, and both before what a provider calls so.
    const again = await came("7 too");
    expect(again).toBeGreaterThan(late);
    expect(await received("7 too", { number: numbered })).toBe(turned);
    expect(early).toBeLessThan(late);
    await went("7", { inbox: numbered });
    expect(await received("7")).toBe(late);
  });

  it("find what went out by its provider's id, the latest of several [CH-HEALTH-5]", async () => {
    const first = await went("p");
    const second = await went("p");
    const sigchat = await went("p", { place: OTHER_CHANNEL });
    const others = await went("p", { place: OTHER_AGENT });
    expect(second).toBeGreaterThan(first);
    expect(await sent("p")).toBe(sigchat);
    expect(await sent("p", { channel: "botchat" })).toBe(second);
    expect(await sent("p", { channel: "teamchat" })).toBeUndefined();
    expect(await sent("p", { agentId: "b" })).toBe(others);
    expect(await sent("none")).toBeUndefined();
  });

  it("tell the latest state of a turn [CH-HEALTH-5]", async () => {
    const session = { uuid: "s", agentId: "a", chatId: "c", name: "n", unnamed: false, now: 1 };
    const begin = (requestId: string, now: number) =>
      store.turns.start("s", { requestId, kind: "message", keyId: null, told: 1, now });
    await store.commit(
      store.sessions.add(session),
      begin("r", 5),
      store.turns.end("s", "interrupted", 6),
      begin("r", 7),
      store.turns.end("s", "done", 8),
      begin("other", 9),
    );
    expect(await store.traces.turn("r")).toEqual({ state: "done", started_at: 7, ended_at: 8 });
    expect(await store.traces.turn("other")).toEqual({ state: "running", started_at: 9, ended_at: null });
    expect(await store.traces.turn("none")).toBeUndefined();
  });

  it("list what went out in reply, oldest first, to any message that its turn joined; no words with it [CH-HEALTH-5]", async () => {
    const [one, two, three] = [await came("e1"), await came("e2"), await came("e3")];
    await turn("r", one, two);
    const replies = [await went("p1", { inbox: two }), await went("p2", { inbox: one })];
    const alone = await went("p3", { inbox: three });
    const of = async (eventId: string) => {
      const row = (await store.traces.received("a", { id: eventId, number: undefined, channel: undefined }))!;
      expect(row).not.toHaveProperty("message");
      return store.traces.replies(row);
    };
    expect((await of("e1")).map(({ id }) => id)).toEqual(replies);
    expect((await of("e2")).map(({ id }) => id)).toEqual(replies);
    expect(await of("e3")).toMatchObject([
      { id: alone, provider_id: "p3", state: "sent", attempts: 1, created_at: 20, settled_at: 30 },
    ]);
    expect(Object.keys((await of("e3"))[0]!)).not.toContain("content");
  });
});
