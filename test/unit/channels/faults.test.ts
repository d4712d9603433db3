import { describe, expect, it } from "vitest";
import { memoryDatabase } from "../../fixtures/memory-db.ts";
import { PLACE, settled, startDelivery } from "./delivery/harness.ts";
import { startIntake } from "./intake/harness.ts";

/** A database of which the next read that `failing` names fails, once. */
function faultyDatabase() {
  const db = memoryDatabase();
  const fault: { failing: RegExp | undefined } = { failing: undefined };
  const read: typeof db.read = async (sql, params) => {
    if (fault.failing?.test(sql)) {
      fault.failing = undefined;
      throw new Error("disk I/O error");
    }
    return db.read(sql, params);
  };
  return { db: { ...db, read }, fault };
}

describe("a read of the database that fails once", () => {
  it("delays the replies of a chat and holds none up for ever [FAULT-1]", async () => {
    const { db, fault } = faultyDatabase();
    const rig = startDelivery({ db });
    fault.failing = /FROM channel_outbox/;
    await rig.put(["one"]);
    expect(rig.sent).toEqual([]);
    rig.clock.advance(2_000);
    await settled();
    await rig.put(["two"]);
    expect(rig.texts()).toEqual(["one", "two"]);
  });

  it("delays the messages of a chat and holds none up for ever [FAULT-1]", async () => {
    const { db, fault } = faultyDatabase();
    const rig = startIntake({ db });
    fault.failing = /FROM channel_inbox WHERE agent_id/;
    await rig.say("one");
    await settled();
    rig.clock.advance(2_000);
    await settled();
    expect(rig.turns).toHaveLength(1);
    await rig.turns[0]!.end();
    await rig.say("two");
    await settled();
    await rig.turns[1]!.end();
    await settled();
    expect(rig.out.texts()).toEqual(["one", "two"]);
  });

  it("does not keep a reply from being tried again [FAULT-1, FAULT-2]", async () => {
    const { db, fault } = faultyDatabase();
    const rig = startDelivery({ db });
    fault.failing = /purpose = 'progress'/;
    await rig.put(["the answer"], { inbox: 7, replaces: true });
    rig.clock.advance(5_000);
    await settled();
    expect(rig.texts()).toEqual(["the answer"]);
    expect(rig.states()).toEqual(["sent"]);
  });
});

describe("the progress of a turn", () => {
  it("is not put out behind the reply [FAULT-3]", async () => {
    const rig = startIntake();
    await rig.say("one");
    await settled();
    const target = { chatId: "c", reply: {}, receivedAt: rig.clock.now() };
    const progress = () =>
      rig.out.delivery.progress({ place: PLACE, chatId: "c", inbox: 1, target }, "so far …");
    // The disk takes the end of the turn while the time for the next look at it comes.
    const ending = rig.turns[0]!.end("the answer");
    await Promise.resolve();
    await Promise.all([ending, progress()]);
    await settled();
    expect(rig.out.texts()).toEqual(["the answer"]);
  });
});
