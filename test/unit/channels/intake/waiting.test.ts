import { describe, expect, it } from "vitest";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { memoryDatabase } from "../../../fixtures/memory-db.ts";
import { settled } from "../delivery/harness.ts";
import { startIntake } from "./harness.ts";

const DAY_MS = 24 * 3_600_000;

describe("a message that finds no place", () => {
  it("waits without a look at anything, and has its turn when there is one [CH-WAIT-1, CH-WAIT-2, CH-WAIT-4]", async () => {
    const rig = startIntake({ places: 1 });
    rig.busy.add("of somebody else");
    await rig.say("one");
    await settled();
    const before = { ...rig.state };
    for (let n = 0; n < 20; n++) {
      rig.clock.advance(60_000);
      await settled();
    }
    expect(rig.state).toEqual(before);
    expect(rig.state).toMatchObject({ sends: 0, typing: 0, fetched: [] });
    rig.busy.clear();
    rig.freed.ring("a");
    await settled();
    expect(rig.turns).toHaveLength(1);
    expect(rig.state).toMatchObject({ sends: 1, typing: 1, fetched: ["one"] });
  });

  it("neither loops nor fetches again when somebody else is always faster [CH-WAIT-2, CH-WAIT-4]", async () => {
    const rig = startIntake({ places: 1 });
    const room = { free: true };
    rig.busy.add("of somebody else");
    // What is told of places says yes at once, whatever the sessions say then.
    Object.defineProperty(rig.busy, "size", { get: () => (room.free ? 0 : 1), configurable: true });
    const has = rig.busy.has.bind(rig.busy);
    rig.busy.has = (id) => room.free || has(id);
    await rig.say("one");
    await settled();
    expect(rig.state.sends).toBe(1);
    for (let n = 0; n < 60; n++) {
      rig.clock.advance(1_000);
      await settled();
    }
    expect(rig.state.sends).toBeLessThan(25);
    expect(rig.state.fetched).toEqual(["one"]);
  });

  it("waits for its own session also when that is not the latest of the chat [CH-WAIT-4]", async () => {
    const clock = manualClock();
    const db = memoryDatabase();
    const first = startIntake({ db, clock });
    await first.say("one");
    await settled();
    expect(first.turns).toHaveLength(1);
    first.intake.stop();
    const rig = startIntake({ db, clock, places: 5 });
    rig.sessionsOf.set("sigchat-c", ["s1", "newer"]);
    rig.busy.add("s1");
    await rig.intake.recover();
    rig.intake.wakeAll();
    for (let n = 0; n < 10; n++) {
      clock.advance(60_000);
      await settled();
    }
    expect(rig.state.sends).toBe(0);
    rig.busy.delete("s1");
    rig.freed.ring("a");
    await settled();
    expect(rig.turns).toMatchObject([{ sessionId: "s1", again: 1 }]);
    expect(rig.history()).toEqual(["one"]);
  });
});

describe("a message whose rules cannot be read", () => {
  it("is stored, waits, and is judged when they can be [CH-WAIT-5]", async () => {
    const rig = startIntake();
    rig.state.decision = "later";
    await rig.say("one");
    await rig.say("two");
    for (let n = 0; n < 100; n++) {
      rig.clock.advance(10_000);
      await settled();
    }
    expect(rig.states()).toEqual(["waiting", "waiting"]);
    rig.state.decision = "allow";
    rig.clock.advance(2_000);
    await settled();
    await rig.turns[0]!.end();
    await settled();
    await rig.turns[1]!.end();
    await settled();
    expect(rig.out.texts()).toEqual(["one", "two"]);
  });

  it("is given up after a day [CH-WAIT-5]", async () => {
    const rig = startIntake();
    rig.state.decision = "later";
    await rig.say("one");
    await settled();
    rig.clock.advance(DAY_MS);
    await settled();
    // A clock that jumps skips looks at the rules; so many make one wait.
    for (let n = 0; n < 60; n++) {
      rig.clock.advance(1_000);
      await settled();
    }
    expect(rig.states()).toEqual(["denied"]);
    expect(rig.turns).toEqual([]);
  });

  it("is left to the provider when too many wait already [CH-WAIT-5]", async () => {
    const rig = startIntake();
    rig.state.decision = "later";
    for (let n = 0; n < 1_000; n++) await rig.say(String(n), { chatId: `c${n}` });
    await expect(rig.say("one more")).rejects.toThrow("wait");
    expect(rig.states()).toHaveLength(1_000);
  });
});

describe("a message that a crash put back", () => {
  const crashed = async (texts: readonly string[]) => {
    const clock = manualClock();
    const db = memoryDatabase();
    const first = startIntake({ db, clock, coalesceMs: 300 });
    for (const text of texts) await first.say(text);
    await settled();
    clock.advance(300);
    await settled();
    expect(first.turns).toHaveLength(1);
    first.intake.stop();
    const rig = startIntake({ db, clock, coalesceMs: 300 });
    rig.sessionsOf.set("sigchat-c", ["s1"]);
    await rig.intake.recover();
    return rig;
  };

  it("is joined with no new one, and history has it once [CH-WAIT-8]", async () => {
    const rig = await crashed(["one", "two"]);
    await rig.say("three");
    rig.intake.wakeAll();
    await settled();
    expect(rig.turns).toMatchObject([{ text: "one\ntwo", again: 1 }]);
    await rig.turns[0]!.end();
    await settled();
    rig.clock.advance(300);
    await settled();
    expect(rig.turns).toMatchObject([{ again: 1 }, { text: "three", again: undefined }]);
    expect(rig.history()).toEqual(["one\ntwo", "three"]);
  });

  it("is stored anew when history has lost it meanwhile [CH-WAIT-8]", async () => {
    const rig = await crashed(["one"]);
    await rig.db.write({ sql: "DELETE FROM messages", params: [] });
    rig.intake.wakeAll();
    await settled();
    expect(rig.turns).toMatchObject([{ text: "one", again: undefined }]);
    expect(rig.history()).toEqual(["one"]);
  });

  it("has nothing of its run in history when the agent gave nothing before a stop [CH-WAIT-8]", async () => {
    const rig = startIntake();
    await rig.say("one");
    await settled();
    await rig.turns[0]!.end("", { reason: "shutdown", produced: false });
    await settled();
    expect(rig.states()).toContain("turn");
    expect(rig.out.texts()).toEqual([]);
  });
});

describe("a chat whose own session is held", () => {
  it("keeps no other chat of the agent waiting [CH-PLACE-1]", async () => {
    const rig = startIntake({ places: 1 });
    await rig.say("one", { chatId: "first" });
    await settled();
    await rig.turns[0]!.end();
    await settled();
    // It is being deleted or cleared, for example, which takes no place.
    rig.held.add(rig.turns[0]!.sessionId);
    await rig.say("two", { chatId: "first" });
    await settled();
    await rig.say("to second", { chatId: "second" });
    await settled();
    expect(rig.turns.at(-1)!.text).toContain("to second");
    await rig.turns.at(-1)!.end();
    rig.held.clear();
    rig.freed.ring("a");
    await settled();
    expect(rig.turns.at(-1)!.text).toContain("two");
  });

  it("gives its place up when that happens while it waits for one [CH-PLACE-1]", async () => {
    const rig = startIntake({ places: 1 });
    await rig.say("one", { chatId: "first" });
    await settled();
    await rig.turns[0]!.end();
    await settled();
    rig.busy.add("of somebody else");
    await rig.say("two", { chatId: "first" });
    await settled();
    await rig.say("to second", { chatId: "second" });
    await settled();
    rig.held.add(rig.turns[0]!.sessionId);
    rig.busy.delete("of somebody else");
    rig.freed.ring("a");
    await settled();
    expect(rig.turns.at(-1)!.text).toContain("to second");
  });
});

describe("a database that cannot be read for a moment", () => {
  const failing = (times: (sql: string) => boolean) => {
    const db = memoryDatabase();
    const { all } = db;
    db.all = (sql, params) => {
      if (times(sql)) throw new Error("disk I/O error");
      return all(sql, params);
    };
    return db;
  };

  it("delays an urgent command, which needs nothing else to wake it [CH-READ-1]", async () => {
    let failures = 0;
    const db = failing((sql) => sql.includes("FROM channel_inbox WHERE id = ?") && failures++ < 2);
    const rig = startIntake({ db });
    await rig.say("/help");
    await settled();
    expect(failures).toBeGreaterThan(0);
    for (let n = 0; n < 10; n++) {
      rig.clock.advance(1_000);
      await settled();
    }
    expect(rig.out.texts().join()).toContain("Send a message to talk to the agent.");
    expect(rig.states()).toEqual(["done"]);
  });

  it("delays what a start finds waiting [CH-READ-1]", async () => {
    const clock = manualClock();
    const stores = memoryDatabase();
    const first = startIntake({ db: stores, clock });
    first.intake.stop();
    await first.say("one");
    let failures = 0;
    const { all } = stores;
    stores.all = (sql, params) => {
      if (sql.includes("SELECT DISTINCT agent_id") && failures++ < 2) throw new Error("disk I/O error");
      return all(sql, params);
    };
    const rig = startIntake({ db: stores, clock });
    rig.intake.wakeAll();
    for (let n = 0; n < 10; n++) {
      clock.advance(1_000);
      await settled();
    }
    expect(failures).toBe(3);
    expect(rig.turns).toHaveLength(1);
  });
});
