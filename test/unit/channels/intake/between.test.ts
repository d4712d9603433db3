import { setImmediate as tick } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { heldReads } from "../../../fixtures/held-reads.ts";
import { settled } from "../delivery/harness.ts";
import { PLACE, startIntake } from "./harness.ts";

const WAITING = "state = 'waiting' ORDER BY id LIMIT";
const REMOVED = "The agent was removed.";

/** An intake whose next message is being read for its turn. */
async function reading(options: { coalesceMs?: number } = {}) {
  const reads = heldReads();
  const rig = startIntake({ db: reads.db, ...options });
  reads.hold(WAITING);
  await rig.say("one");
  await settled();
  expect(reads.waiting()).toBe(1);
  const abandon = () => rig.out.store.commit(rig.intake.abandon({ agentId: "a" }, 1, REMOVED));
  const rows = () =>
    reads.db.all<Record<string, unknown>>("SELECT state, note, request_id FROM channel_inbox ORDER BY id");
  return { rig, reads, abandon, rows };
}

/** What was given up has no turn, is not in history, and gets no answer. */
async function expectNothing({ rig, rows }: Awaited<ReturnType<typeof reading>>) {
  for (let n = 0; n < 20; n++) {
    rig.clock.advance(5_000);
    await settled();
  }
  expect(rig.turns).toEqual([]);
  expect(rig.history()).toEqual([]);
  expect(rig.out.rows()).toEqual([]);
  expect(rows()).toEqual([{ state: "done", note: REMOVED, request_id: null }]);
}

describe("while the next message of a chat is being read", () => {
  it("another one comes in, and follows [CH-BETWEEN-1]", async () => {
    const { rig, reads } = await reading();
    reads.release();
    await settled();
    reads.hold(WAITING);
    await rig.turns[0]!.end();
    await settled();
    expect(reads.waiting()).toBe(1);
    // The answer that is held back does not have it.
    await rig.say("two");
    reads.release();
    await settled();
    expect(rig.turns.map(({ text }) => text)).toEqual(["one", "two"]);
  });

  it("its agent is removed and created again: nothing is done with it [CH-BETWEEN-7]", async () => {
    const all = await reading();
    await all.abandon();
    all.reads.release();
    await expectNothing(all);
    expect(all.rig.log.lines).toHaveLength(0);
  });

  it("the gateway stops: it waits for the next start [CH-BETWEEN-3]", async () => {
    const { rig, reads, rows } = await reading();
    rig.intake.stop();
    reads.release();
    await rig.intake.idle();
    await settled();
    expect(rig.turns).toEqual([]);
    expect(rows()).toMatchObject([{ state: "waiting" }]);
  });

  it("and its chat is woken twice, it still has one turn [CH-BETWEEN-7]", async () => {
    const { rig, reads } = await reading();
    rig.intake.wakeAll();
    rig.intake.wakeAll();
    await settled();
    reads.release();
    await settled();
    await rig.turns[0]!.end();
    await settled();
    expect(rig.turns).toHaveLength(1);
    expect(rig.out.texts()).toEqual(["one"]);
  });

  it("one that is joined to it comes in, and goes with it [CH-BETWEEN-1]", async () => {
    const { rig, reads } = await reading({ coalesceMs: 300 });
    await rig.say("two");
    reads.release();
    await settled();
    rig.clock.advance(300);
    await settled();
    expect(rig.turns.map(({ text }) => text)).toEqual(["one\ntwo"]);
  });
});

describe("a message that is given up", () => {
  it("while its files are fetched has no turn [CH-BETWEEN-7]", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const reads = heldReads();
    const rig = startIntake({
      db: reads.db,
      between: (what) => (what === "media" ? promise : Promise.resolve()),
    });
    await rig.say("one");
    await settled();
    expect(rig.state.fetched).toEqual(["one"]);
    await rig.out.store.commit(rig.intake.abandon({ agentId: "a" }, 1, REMOVED));
    resolve();
    await settled();
    expect(rig.state.sends).toBe(1);
    expect(rig.turns).toEqual([]);
    expect(rig.history()).toEqual([]);
    expect(rig.busy.size).toBe(0);
    await rig.say("two");
    await settled();
    expect(rig.turns.map(({ text }) => text)).toEqual(["two"]);
  });

  it("while its sender is being judged gets no answer [CH-BETWEEN-9]", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let looks = 0;
    // The first look decides whether it is stored, the second what becomes of it.
    const rig = startIntake({
      between: (what) => (what === "file" && ++looks === 2 ? promise : Promise.resolve()),
    });
    rig.state.decision = "knock";
    await rig.say("one");
    await settled();
    expect(looks).toBe(2);
    await rig.out.store.commit(rig.intake.abandon({ agentId: "a" }, 1, REMOVED));
    resolve();
    await settled();
    expect(rig.out.rows()).toEqual([]);
    expect(rig.states()).toEqual(["done"]);
  });
});

describe("messages that come while the rules cannot be read", () => {
  it("at the same time share the limit [CH-BETWEEN-8]", async () => {
    const rig = startIntake();
    rig.state.decision = "later";
    const { store } = rig.out;
    await store.commit(
      ...Array.from({ length: 998 }, (_, n) =>
        store.inbox.add(
          {
            place: PLACE,
            eventId: `e${n}`,
            chatId: `c${n}`,
            messageId: undefined,
            messageKey: undefined,
            senderId: "u",
            message: "{}",
            state: "waiting",
          },
          1,
        ),
      ),
    );
    const came = await Promise.allSettled(
      ["one", "two", "three", "four"].map((text) => rig.say(text, { chatId: text })),
    );
    expect(came.filter(({ status }) => status === "rejected")).toHaveLength(2);
    await tick();
    expect(rig.states()).toHaveLength(1_000);
    // The places of those that were refused are free for others.
    await store.commit(rig.intake.abandon({ agentId: "a" }, 1, REMOVED));
    await rig.say("five", { chatId: "five" });
    expect(rig.states()).toHaveLength(1_001);
  });
});

describe("a message for an agent that is removed", () => {
  it("while its sender is being judged is not stored [CH-BETWEEN-10]", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const rig = startIntake({ between: (what) => (what === "file" ? promise : Promise.resolve()) });
    const said = rig.say("one");
    rig.state.removed = true;
    resolve();
    await expect(said).rejects.toMatchObject({ code: "AGENT_NOT_FOUND" });
    expect(rig.states()).toEqual([]);
  });
});
