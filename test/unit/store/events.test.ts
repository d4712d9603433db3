import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EventCondition, EventFilter, Store } from "../../../packages/gateway/src/store/index.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";
import { drivers } from "./drivers.ts";
import { say } from "./messages.ts";

const ALL: EventFilter = { ownerless: true, texts: false };
const MANY = 1_000_000;

/** Two of these cannot both be stored. */
const share = (id: string) => ({
  id,
  tokenHash: "the same",
  agentId: "a",
  session: "s",
  path: "/p",
  identity: "i",
  expiresAt: 1,
  createdAt: 1,
});

describe.each(drivers)("events in $driver", ({ open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const add = (type: string, agentId?: string, at = 1000) =>
    store.events.add({ type, at, agentId, data: { n: type } });
  const number = async (limit = 100) => (await store.commit(store.events.number(limit)))[0];
  const prune = async (keep: number, since: number, limit = 100) =>
    (await store.commit(store.events.prune(keep, since, limit)))[0];
  const read = (after = 0, filter: EventFilter = ALL, limit = 100) =>
    store.events.after(after, MANY, limit, filter);
  const typesOf = async (events: ReturnType<typeof read>) =>
    (await events).map(({ seq, type }) => `${seq} ${type}`);

  it("get numbers without gaps, in the order they were added, when they are asked to [EVENT-2]", async () => {
    expect(await store.events.bounds()).toEqual({ last: 0, removed: 0 });
    await store.commit(add("a"), add("b"));
    await store.commit(add("c"));
    expect(await read()).toEqual([]);
    expect(await number(2)).toBe(2);
    expect(await number(2)).toBe(1);
    expect(await number(2)).toBe(0);
    expect(await typesOf(read())).toEqual(["1 a", "2 b", "3 c"]);
    expect(await store.events.bounds()).toEqual({ last: 3, removed: 0 });
  });

  it("are told only while their session exists, or their message is in a certain state [EVENT-14]", async () => {
    const chat = { uuid: "s1", agentId: "a", chatId: "c", name: "n", unnamed: true, now: 1 };
    const told = (type: string, condition: EventCondition) =>
      store.events.add({ type, at: 1, while: condition });
    const row = { place: { agentId: "a", channel: "botchat", account: "" }, chatId: "c", inbox: null };
    const [sending] = await store.commit(
      store.outbox.addSending({ ...row, purpose: "direct", key: "k", target: "{}", content: "{}" }, 1),
    );
    const open = { delivery: sending.id, states: ["pending", "sending"] } as const;
    await store.commit(
      told("before", { session: "s1" }),
      store.sessions.add(chat),
      told("with", { session: "s1" }),
      told("other", { session: "s2" }),
      told("open", open),
      store.outbox.settle(sending.id, "unknown", 2, {}),
      told("settled", open),
      told("unknown", { delivery: sending.id, states: ["unknown"] }),
      told("none", { delivery: sending.id + 1, states: ["unknown"] }),
    );
    await number();
    expect(await typesOf(read())).toEqual(["1 with", "2 open", "3 unknown"]);
  });

  it("come back as they were told [EVENT-1]", async () => {
    await store.commit(
      store.events.add({ type: "t", at: 5, agentId: "x", data: { text: 'a "b" \u{1f600}', n: 1 } }),
      store.events.add({ type: "u", at: 6 }),
    );
    await number();
    const plain = { text: null, cut: false };
    expect(await read()).toEqual([
      { seq: 1, type: "t", at: 5, agentId: "x", data: { text: 'a "b" \u{1f600}', n: 1 }, ...plain },
      { seq: 2, type: "u", at: 6, agentId: null, data: {}, ...plain },
    ]);
  });

  it("come with the beginning of the text that they tell, where it is asked for and still there [EVENT-1]", async () => {
    const said = { agent: "a", chat: "c", session: "s", ts: 1 };
    const [short, long] = ["short", "é".repeat(16_385)];
    await say(store, [
      { ...said, id: 1, content: short },
      { ...said, id: 2, content: long },
      { ...said, id: 3, content: long.slice(1) },
    ]);
    const tell = (message: number) => store.events.add({ type: "t", at: 1, message });
    await store.commit(tell(1), tell(2), tell(3), tell(4), add("no message"));
    await number();
    const texts = async (filter: EventFilter) =>
      (await read(0, filter)).map(({ text, cut }) => [text?.length, cut]);
    expect(await texts({ ...ALL, texts: true })).toEqual([
      [5, false],
      [16_384, true],
      [16_384, false],
      [undefined, false],
      [undefined, false],
    ]);
    expect((await read(0, { ...ALL, texts: true }))[0]).toMatchObject({ text: short });
    expect((await texts(ALL)).every(([length]) => length === undefined)).toBe(true);
  });

  it("of a unit that is rolled back never were [EVENT-1]", async () => {
    await store.commit(store.shares.add(share("one")), add("first"));
    await expect(store.commit(add("lost"), store.shares.add(share("two")))).rejects.toThrow();
    await store.commit(add("second"));
    await number();
    expect(await typesOf(read())).toEqual(["1 first", "2 second"]);
  });

  it("are announced after the commit that adds them, and only then [EVENT-2]", async () => {
    let told = 0;
    const stop = store.onEvents(() => told++);
    await store.commit(add("a"), add("b"));
    expect(told).toBe(1);
    await number();
    expect(told).toBe(1);
    stop();
    await store.commit(add("c"));
    expect(told).toBe(1);
  });

  it("are read by type, agent and number, in pages [EVENT-5, EVENT-7]", async () => {
    await store.commit(add("a", "x"), add("b"), add("a", "y"), add("c", "x"), add("a"));
    await number();
    const filtered = (filter: Partial<EventFilter>) => typesOf(read(0, { ...ALL, ...filter }));
    expect(await filtered({ types: ["a"] })).toEqual(["1 a", "3 a", "5 a"]);
    expect(await filtered({ agents: ["x"] })).toEqual(["1 a", "2 b", "4 c", "5 a"]);
    expect(await filtered({ agents: ["x"], ownerless: false })).toEqual(["1 a", "4 c"]);
    expect(await filtered({ ownerless: false })).toEqual(["1 a", "3 a", "4 c"]);
    expect(await filtered({ agents: [], ownerless: false })).toEqual([]);
    expect(await filtered({ agents: [] })).toEqual(["2 b", "5 a"]);
    expect(await filtered({ types: ["a", "c"], agents: ["x", "y"], ownerless: false })).toEqual([
      "1 a",
      "3 a",
      "4 c",
    ]);
    expect(await typesOf(read(2, ALL, 2))).toEqual(["3 a", "4 c"]);
    expect(await typesOf(store.events.after(1, 3, 10, ALL))).toEqual(["2 b", "3 a"]);
    expect(await typesOf(store.events.latest(5, 2, ALL))).toEqual(["4 c", "5 a"]);
    expect(await typesOf(store.events.latest(4, 2, { ...ALL, types: ["a"] }))).toEqual(["1 a", "3 a"]);
  });

  it("are removed by number and by age, from the oldest on, and their numbers never come again [EVENT-4]", async () => {
    const add3 = [add("a", undefined, 10), add("b", undefined, 20), add("c", undefined, 30)];
    await store.commit(...add3);
    await number();
    expect(await prune(2, 0)).toBe(1);
    expect(await store.events.bounds()).toEqual({ last: 3, removed: 1 });
    expect(await prune(100, 30)).toBe(1);
    expect(await typesOf(read())).toEqual(["3 c"]);
    expect(await prune(100, 31)).toBe(1);
    expect(await store.events.bounds()).toEqual({ last: 3, removed: 3 });
    expect(await prune(100, 31)).toBe(0);
    await store.commit(add("d"));
    await number();
    expect(await typesOf(read())).toEqual(["4 d"]);
  });

  it("are removed a limited number at a time, and those without a number not at all [EVENT-4]", async () => {
    for (const type of ["a", "b", "c", "d", "e"]) await store.commit(add(type));
    await number(4);
    expect(await prune(0, 0, 3)).toBe(3);
    expect(await prune(0, 0, 3)).toBe(1);
    expect(await prune(0, 0, 3)).toBe(0);
    await number();
    expect(await typesOf(read())).toEqual(["5 e"]);
  });

  it("of a clock that was set back stay as long as what is older than they are stays [EVENT-4]", async () => {
    await store.commit(add("future", undefined, 9000), add("past", undefined, 10));
    await number();
    expect(await prune(100, 5000)).toBe(0);
    expect(await prune(1, 5000)).toBe(2);
  });
});

describe("whoever reads while others write and number", () => {
  it("sees every event once, and no number below one already seen [EVENT-2]", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.boolean()), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        async (scheduler, units, batch) => {
          // Units reach the database in whatever order the scheduler lets them.
          const store = createStore(memoryDatabase());
          await store.commit(store.shares.add(share("one")));
          const expected: string[] = [];
          const writes = units.map(async ([count, fails], unit) => {
            const names = Array.from({ length: count }, (_, at) => `${unit}.${at}`);
            if (!fails) expected.push(...names);
            const changes = names.map((type) => store.events.add({ type, at: 0 }));
            const doomed = fails ? [store.shares.add(share("two"))] : [];
            await scheduler.schedule(Promise.resolve());
            await store.commit(...changes, ...doomed).catch(() => {});
          });
          const seen: number[] = [];
          const told: string[] = [];
          let cursor = 0;
          const look = async () => {
            const { last } = await store.events.bounds();
            await scheduler.schedule(Promise.resolve());
            for (const { seq, type } of await store.events.after(cursor, last, 1000, ALL)) {
              seen.push(seq);
              told.push(type);
            }
            cursor = last;
          };
          const numbering = (async () => {
            for (let round = 0; round < 10; round++) {
              await scheduler.schedule(Promise.resolve());
              await store.commit(store.events.number(batch));
            }
          })();
          const reading = (async () => {
            for (let round = 0; round < 10; round++) {
              await scheduler.schedule(Promise.resolve());
              await look();
            }
          })();
          await scheduler.waitFor(Promise.all([...writes, numbering, reading]));
          while ((await store.commit(store.events.number(batch)))[0] > 0);
          await scheduler.waitFor(look());
          expect(seen).toEqual(Array.from(seen, (_, at) => at + 1));
          expect(told.toSorted()).toEqual(expected.toSorted());
          await store.close();
        },
      ),
      { numRuns: 60 },
    );
  });
});
