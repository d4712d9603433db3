import { describe, expect, it } from "vitest";
import { UnsettledError } from "../../../../packages/gateway/src/store/index.ts";
import { memoryDatabase } from "../../../fixtures/memory-db.ts";
import { PLACE, settled, startDelivery } from "./harness.ts";

/** A delivery whose next such commit is refused, stored or not, by a store that stopped answering. */
function refusing(marks: RegExp, stored: boolean) {
  const db = memoryDatabase();
  const { write } = db;
  const { promise: outcome, resolve } = Promise.withResolvers<boolean>();
  let left = 1;
  db.write = async (...statements) => {
    if (left === 0 || !statements.some(({ sql }) => marks.test(sql))) return write(...statements);
    left--;
    if (stored) await write(...statements);
    throw new UnsettledError({}, outcome);
  };
  const rig = startDelivery({ db });
  return {
    rig,
    /** The store is back, and says what became of the commit. */
    async tell() {
      resolve(stored);
      await settled();
    },
    async pass(ms: number) {
      rig.clock.advance(ms);
      await settled();
    },
  };
}
const SENDING = /SET state = 'sending'/;

describe("a reply that was to be marked as under way when the store stopped answering", () => {
  it.each([true, false])(
    "goes out once, before what follows (marked: %s) [STORE-COMMIT-2]",
    async (stored) => {
      const { rig, tell, pass } = refusing(SENDING, stored);
      await rig.put(["one", "two"]);
      await pass(60_000);
      // What follows must not overtake it.
      expect(rig.texts()).toEqual([]);
      expect(rig.states()).toEqual([stored ? "sending" : "pending", "pending"]);
      await tell();
      expect(rig.rows("state, uncertain_at")[0]).toEqual({ state: "pending", uncertain_at: null });
      await pass(1_000);
      expect(rig.texts()).toEqual(["one", "two"]);
      expect(rig.states()).toEqual(["sent", "sent"]);
      expect(rig.told()).toEqual([]);
    },
  );

  it("waits for the next start, unmarked, if the gateway stops first [STORE-COMMIT-2]", async () => {
    const { rig, tell, pass } = refusing(SENDING, true);
    await rig.put(["one"]);
    const closed = rig.delivery.close();
    await tell();
    await closed;
    await pass(60_000);
    expect(rig.texts()).toEqual([]);
    expect(rig.states()).toEqual(["pending"]);
  });

  it("keeps no stop waiting for longer than two seconds [STORE-COMMIT-2]", async () => {
    const { rig, pass } = refusing(SENDING, true);
    await rig.delivery.recover();
    await rig.put(["one"]);
    const closed = rig.delivery.close();
    await pass(2_000);
    await closed;
    // The next start finds that it was not sent.
    const next = startDelivery({ db: rig.db, clock: rig.clock, journal: rig.journal });
    await next.delivery.recover();
    next.delivery.wakeAll();
    await settled();
    expect(next.texts()).toEqual(["one"]);
  });
});

describe("a message whose sender was refused when the store stopped answering", () => {
  const direct = (rig: ReturnType<typeof startDelivery>) =>
    rig.delivery.now({
      place: PLACE,
      chatId: "c",
      inbox: null,
      purpose: "direct",
      target: { chatId: "c", reply: {}, receivedAt: 0 },
      content: { kind: "text", text: "now" },
    });

  it.each([true, false])(
    "is not sent, and none is left open (stored: %s) [STORE-COMMIT-2]",
    async (stored) => {
      const { rig, tell, pass } = refusing(/INSERT INTO channel_outbox/, stored);
      // The answer does not wait for the store.
      await expect(direct(rig)).rejects.toMatchObject({ code: "UNAVAILABLE" });
      await tell();
      await pass(60_000);
      expect(rig.texts()).toEqual([]);
      expect(rig.rows("state, reason")).toEqual(
        stored
          ? [{ state: "failed", reason: "The gateway's store stopped answering before this was sent." }]
          : [],
      );
      expect(await rig.store.outbox.queued(PLACE)).toBe(0);
    },
  );

  it("is told from what is being sent [STORE-COMMIT-2]", async () => {
    const { rig, tell } = refusing(/INSERT INTO channel_outbox .*RETURNING/s, true);
    rig.answers.push(() => new Promise(() => {}));
    await rig.put(["one"]);
    await expect(direct(rig)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await tell();
    expect(rig.rows("state, purpose")).toEqual([
      { state: "sending", purpose: "reply" },
      { state: "failed", purpose: "direct" },
    ]);
    expect(rig.told()).toEqual(["delivery.failed 2"]);
  });
});
