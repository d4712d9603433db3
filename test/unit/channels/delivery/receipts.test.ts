import { describe, expect, it } from "vitest";
import type { SendOutcome } from "../../../../packages/gateway/src/channels/types.ts";
import { PLACE, settled, startDelivery, UNKNOWN } from "./harness.ts";

const FAILED = { state: "failed", reason: "No such number." } as const;

/** A delivery with one message whose outcome is unknown. */
async function uncertain() {
  const rig = startDelivery();
  rig.answers.push(UNKNOWN);
  await rig.put(["one"]);
  expect(rig.states()).toEqual(["unknown"]);
  return { rig, key: rig.sent[0]!.key };
}

describe("a receipt with the key of a message", () => {
  it.each(["sent", "delivered", "read"] as const)(
    "of unknown outcome that is %s settles it [CH-CLOUD-18, EVENT-13]",
    async (state) => {
      const { rig, key } = await uncertain();
      await rig.delivery.receipt(PLACE, { messageId: "p1", key, state });
      expect(rig.rows("state, provider_id, reason, content")).toEqual([
        { state: "sent", provider_id: "p1", reason: null, content: null },
      ]);
      expect(await rig.delivery.unsettled.unknown(PLACE)).toBe(0);
      expect(await rig.delivery.unsettled.list("a", { limit: 9 })).toEqual([]);
      await rig.delivery.receipt(PLACE, { messageId: "p1", ...FAILED });
      expect(rig.rows("state, reason")).toEqual([FAILED]);
      await rig.delivery.receipt(PLACE, { messageId: "p1", ...FAILED });
      expect(rig.told()).toEqual(["delivery.unknown 1", "delivery.failed 1"]);
    },
  );

  it("of unknown outcome that failed says why, and leaves it to the owner [CH-CLOUD-18]", async () => {
    const { rig, key } = await uncertain();
    await rig.delivery.receipt(PLACE, { messageId: "p1", key, ...FAILED });
    expect(rig.rows("state, reason")).toEqual([FAILED]);
    expect(rig.told()).toEqual(["delivery.unknown 1", "delivery.failed 1"]);
    expect(await rig.delivery.unsettled.list("a", { limit: 9 })).toMatchObject([{ sendable: true }]);
  });

  it("that is of another place, or unknown, settles nothing [CH-CLOUD-18]", async () => {
    const { rig, key } = await uncertain();
    await rig.delivery.receipt({ ...PLACE, agentId: "b" }, { messageId: "p1", key, state: "sent" });
    await rig.delivery.receipt({ ...PLACE, channel: "cloudchat" }, { messageId: "p1", key, state: "sent" });
    await rig.delivery.receipt(PLACE, { messageId: "p1", key: "another", state: "sent" });
    await rig.delivery.receipt(PLACE, { messageId: "p1", state: "sent" });
    expect(rig.states()).toEqual(["unknown"]);
  });

  it.each<SendOutcome>([
    UNKNOWN,
    { status: "retry", reason: "Busy." },
    { status: "sent", messageId: "p1" },
    { status: "failed", reason: "No." },
  ])("settles an attempt that later ends as $status [CH-CLOUD-18]", async (outcome) => {
    const rig = startDelivery();
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    rig.answers.push(() => promise);
    await rig.put(["one", "two"]);
    await rig.delivery.receipt(PLACE, { messageId: "p1", key: rig.sent[0]!.key, state: "sent" });
    expect(rig.states()).toEqual(["sent", "pending"]);
    resolve(outcome);
    await settled();
    rig.clock.advance(60_000);
    await settled();
    expect(rig.texts()).toEqual(["one", "two"]);
    expect(rig.rows("state, provider_id")[0]).toEqual({ state: "sent", provider_id: "p1" });
  });

  it("settles what a killed gateway had begun, before its chat goes on [CH-CLOUD-18]", async () => {
    const first = startDelivery();
    first.answers.push(() => new Promise(() => {}));
    await first.put(["one"]);
    const { key } = first.sent[0]!;
    const rig = startDelivery({ db: first.db, clock: first.clock, journal: first.journal });
    await rig.delivery.recover();
    await rig.delivery.receipt(PLACE, { messageId: "p1", key, state: "sent" });
    rig.delivery.wakeAll();
    await settled();
    expect(rig.texts()).toEqual([]);
    expect(rig.states()).toEqual(["sent"]);
  });
});
