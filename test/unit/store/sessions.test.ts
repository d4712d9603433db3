import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Store } from "../../../packages/gateway/src/store/index.ts";
import { drivers } from "./drivers.ts";

const MIB = 1024 * 1024;

describe.each(drivers)("sessions, messages and turns in $driver", ({ open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const begin = (uuid: string, { chatId = "api-one", now = 1000, unnamed = true } = {}) =>
    store.commit(store.sessions.add({ uuid, agentId: "a", chatId, name: "New session", unnamed, now }));
  const find = (uuid: string, chatId = "api-one") => store.sessions.find("a", chatId, uuid);
  const say = async (session: string, content: string, more: object = {}) => {
    const id = store.ids.message();
    const message = { id, session, role: "user" as const, content, ts: 2000, extra: {}, ...more };
    const [stored] = await store.commit(store.messages.add(message));
    return { id, stored };
  };
  const told = async (limit = 50, range = {}) => {
    const row = await find("s");
    const said = await store.messages.recent(row!.id, limit, {
      after: 0,
      upto: Number.MAX_SAFE_INTEGER,
      ...range,
    });
    return said.map(({ text }) => text);
  };

  it("a session is found by its agent, chat and id alone, the latest of a chat first [ROWS-2]", async () => {
    await begin("one", { now: 1000 });
    await begin("two", { now: 3000 });
    await begin("three", { now: 2000 });
    await begin("other", { chatId: "api-two", now: 9000 });
    expect((await store.sessions.list("a", "api-one")).map(({ uuid }) => uuid)).toEqual([
      "two",
      "three",
      "one",
    ]);
    expect(await store.sessions.latest("a", "api-one")).toMatchObject({ uuid: "two", chat_id: "api-one" });
    await say("one", "again", { ts: 4000 });
    expect((await store.sessions.latest("a", "api-one"))?.uuid).toBe("one");
    expect(await find("one", "api-two")).toBeUndefined();
    expect(await store.sessions.find("b", "api-one", "one")).toBeUndefined();
    expect(await store.sessions.byId("other")).toMatchObject({ agent_id: "a", chat_id: "api-two" });
    expect(await store.sessions.byId("none")).toBeUndefined();
    expect(await store.sessions.latest("a", "api-none")).toBeUndefined();
    await store.commit(store.sessions.remove("one"));
    expect(await find("one")).toBeUndefined();
  });

  it("of sessions with the same time the newest comes first, and is the latest [ROWS-2]", async () => {
    for (const uuid of ["d", "b", "c", "a"]) await begin(uuid);
    expect((await store.sessions.list("a", "api-one")).map(({ uuid }) => uuid)).toEqual(["a", "c", "b", "d"]);
    expect((await store.sessions.latest("a", "api-one"))?.uuid).toBe("a");
  });

  it("the first name stands, and a change says whether the session is there [ROWS-2]", async () => {
    await begin("s");
    await store.commit(store.sessions.nameFirst("s", "First"));
    await store.commit(store.sessions.nameFirst("s", "Second"));
    expect(await find("s")).toMatchObject({ name: "First", unnamed: 0 });
    const values = { name: "Chosen", model_override: "m", image_config: "{}" };
    expect(
      await store.commit(store.sessions.update("s", values), store.sessions.update("gone", values)),
    ).toEqual([true, false]);
    expect(await find("s")).toMatchObject(values);
  });

  it("what a turn reports is kept until another reports anew; the program's session never outlives it [ROWS-2]", async () => {
    await begin("s");
    const runtimeState = { type: "acp", token: "t", upto: 7 };
    await store.commit(store.sessions.settle("s", { runtimeState, model: "m", contextPercent: 12.5 }));
    expect(JSON.parse((await find("s"))!.runtime_state!)).toEqual(runtimeState);
    await store.commit(store.sessions.settle("s", { runtimeState: null }));
    expect(await find("s")).toMatchObject({ runtime_state: null, model: "m", context_percent: 12.5 });
  });

  it("a message counts in its session, and one without a session is not stored [ROWS-2]", async () => {
    await begin("s");
    expect((await say("s", "x".repeat(300))).stored).toBe(true);
    await say("s", "", { role: "assistant", ts: 3000 });
    expect(await find("s")).toMatchObject({
      message_count: 2,
      last_message: "x".repeat(200),
      last_activity: 3000,
    });
    const media = { media: ["a.png", "a.png"], steps: [{ type: "text", length: 1 }] };
    expect((await say("gone", "lost", media)).stored).toBe(false);
    expect((await say("s", "kept", media)).stored).toBe(true);
    expect(await told()).toEqual(["x".repeat(300), "kept"].toSorted((a, b) => b.length - a.length));
  });

  it("an agent is told what was said: no failure, no silence, the newest first to stay [ROWS-2]", async () => {
    await begin("s");
    const attachments = [{ type: "image", url: "/x" }];
    const error = { code: "AGENT_FAILED", message: "no" };
    const { id: first } = await say("s", "one", { ts: 1 });
    await say("s", 'a sender named {"error":{', {
      ts: 2,
      extra: { senderName: '"error":{ "attachments":[' },
    });
    await say("s", "failed", { ts: 3, role: "assistant", extra: { error } });
    await say("s", "", { ts: 4, role: "assistant" });
    await say("s", "", { ts: 4, role: "assistant", extra: { senderName: '"attachments":[' } });
    await say("s", "", { ts: 5, role: "assistant", extra: { attachments } });
    const { id: last } = await say("s", "six", { ts: 6 });
    const all = ["one", 'a sender named {"error":{', "", "six"];
    expect(await told()).toEqual(all);
    expect(await told(2)).toEqual(["", "six"]);
    expect(await told(50, { after: first })).toEqual(all.slice(1));
    expect(await told(50, { upto: last - 1 })).toEqual(all.slice(0, 3));
    const { id } = (await find("s"))!;
    const ids = await store.messages.saidAfter(id, first);
    expect([ids.length, ids.at(-1)]).toEqual([3, last]);
    expect(await store.messages.last(id, Number.MAX_SAFE_INTEGER)).toBe(last);
    expect(await store.messages.last(id, last - 1)).toBe(last - 1);
    expect(await store.messages.last(id, first - 1)).toBe(0);
  });

  it("an agent is told the beginning of a text that is too long, and nothing before it [ROWS-2]", async () => {
    await begin("s");
    await say("s", "before", { ts: 1 });
    await say("s", "y".repeat(5 * MIB), { ts: 2 });
    const [only, ...others] = await told();
    expect(others).toEqual([]);
    expect(only!.length).toBeLessThan(2 * MIB);
    expect(only!.endsWith("y\n\n[The rest of this message was left out.]")).toBe(true);
  });

  it("a text of just the size that is told is told whole, with who said it [ROWS-2]", async () => {
    await begin("s");
    await say("s", "asked", { ts: 1 });
    await say("s", "z".repeat(4 * MIB - 5), { ts: 2, role: "assistant" });
    const { id } = (await find("s"))!;
    const range = { after: 0, upto: Number.MAX_SAFE_INTEGER };
    const said = await store.messages.recent(id, 50, range);
    expect(said.map(({ role, text }) => [role, text.length])).toEqual([
      ["user", 5],
      ["assistant", 4 * MIB - 5],
    ]);
    await say("s", "z".repeat(4 * MIB), { ts: 3 });
    const [only] = await store.messages.recent(id, 50, range);
    expect(only!.text.length).toBe(4 * MIB);
  });

  it("a message comes back with who said it, what the agent did and which files it names [ROWS-2, STEP-1]", async () => {
    await begin("s");
    const steps = [{ type: "text", length: 1 }];
    await say("s", "asked", { ts: 1, media: ["in.png"] });
    await say("s", "answered", { ts: 2, role: "assistant", steps, extra: { senderName: "N" } });
    const query = { agentId: "a", chatId: "api-one", limit: 9, order: "asc", include: "steps" } as const;
    const { messages } = await store.history.page(query, false);
    expect(messages).toMatchObject([
      { role: 0, content: "asked", ts: 1, extra: null, steps: null },
      { role: 1, content: "answered", ts: 2, extra: '{"senderName":"N"}', steps: JSON.stringify(steps) },
    ]);
    expect(await store.media.isNamed("a", "in.png")).toBe(true);
  });

  it("turns that run are found for one agent, or for all [ROWS-2, OWN-2]", async () => {
    const other = { uuid: "o", agentId: "b", chatId: "api-one", name: "n", unnamed: false, now: 1 };
    const turn = (requestId: string) => ({ requestId, kind: "message", keyId: null, told: 1, now: 5 });
    await begin("s");
    await store.commit(
      store.sessions.add(other),
      store.turns.start("o", turn("of b")),
      store.turns.start("s", turn("of a")),
    );
    const running = async (agentId?: string) =>
      (await store.turns.running(agentId)).map(({ requestId }) => requestId);
    expect(await Promise.all([running(), running("a"), running("b"), running("c")])).toEqual([
      ["of b", "of a"],
      ["of a"],
      ["of b"],
      [],
    ]);
  });

  it("a turn that did not end is found with its text, until it is closed [ROWS-2]", async () => {
    await begin("s");
    const turn = (requestId: string) => ({ requestId, kind: "message", keyId: "k", told: 9, now: 5 });
    expect(await store.commit(store.turns.start("s", turn("r1")))).toEqual([true]);
    expect(await store.commit(store.turns.start("gone", turn("r2")))).toEqual([false]);
    await store.commit(
      store.turns.addPart("r1", ""),
      store.turns.addPart("r1", "b"),
      store.turns.addPart("r2", "x"),
    );
    expect(await store.turns.running()).toMatchObject([
      { requestId: "r1", session: { uuid: "s", agentId: "a", model: undefined }, keyId: "k", told: 9 },
    ]);
    expect(await store.turns.parts("r1")).toEqual(["", "b"]);
    await store.commit(store.turns.end("s", "done", 6), store.turns.dropParts("r1"));
    expect(await store.turns.running()).toEqual([]);
    expect([await store.turns.parts("r1"), await store.turns.parts("r2")]).toEqual([[], ["x"]]);
    await store.commit(store.turns.start("s", turn("r3")), store.sessions.remove("s"));
    expect(await store.turns.running()).toMatchObject([{ requestId: "r3", session: null, keyId: "k" }]);
    await store.commit(store.turns.cutOff("r3", 7));
    expect(await store.turns.running()).toEqual([]);
  });
});
