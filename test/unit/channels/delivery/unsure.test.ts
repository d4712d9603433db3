import { describe, expect, it } from "vitest";
import { PLACE, SENT, settled, startDelivery, UNKNOWN } from "./harness.ts";

const DAY_MS = 24 * 3_600_000;

describe("a send of unknown outcome", () => {
  it("is not repeated where it could arrive twice, and what follows goes out [CH-UNSURE-3, EVENT-13]", async () => {
    const rig = startDelivery();
    rig.answers.push(UNKNOWN);
    await rig.put(["one", "two"]);
    await settled();
    expect(rig.texts()).toEqual(["one", "two"]);
    expect(rig.states()).toEqual(["unknown", "sent"]);
    expect(rig.told()).toEqual(["delivery.unknown 1"]);
    expect(await rig.delivery.unsettled.unknown(PLACE)).toBe(1);
  });

  it("is repeated with its key where the provider takes it once, before what follows [CH-UNSURE-2]", async () => {
    const rig = startDelivery();
    rig.repeatIf(() => true);
    rig.answers.push(UNKNOWN, UNKNOWN);
    await rig.put(["one", "two"]);
    const began = rig.clock.now();
    expect(rig.texts()).toEqual(["one"]);
    for (let n = 0; n < 3; n++) {
      rig.clock.advance(3_000);
      await settled();
    }
    expect(rig.texts()).toEqual(["one", "one", "one", "two"]);
    expect(new Set(rig.sent.slice(0, 3).map(({ key }) => key)).size).toBe(1);
    expect(rig.sent.slice(0, 3).map(({ uncertainAt }) => uncertainAt)).toEqual([undefined, began, began]);
    expect(rig.states()).toEqual(["sent", "sent"]);
  });

  it("is not repeated for ever: after some attempts the chat goes on [CH-UNSURE-3]", async () => {
    const rig = startDelivery();
    rig.repeatIf(() => true);
    rig.answers.push(...Array.from({ length: 5 }, () => UNKNOWN));
    await rig.put(["one", "two"]);
    for (let n = 0; n < 10; n++) {
      rig.clock.advance(10_000);
      await settled();
    }
    expect(rig.texts()).toEqual([...Array.from({ length: 5 }, () => "one"), "two"]);
    expect(rig.states()).toEqual(["unknown", "sent"]);
  });

  it("is given up as unknown when the provider no longer keeps it apart [CH-UNSURE-2, CH-UNSURE-6]", async () => {
    const rig = startDelivery();
    const until = rig.clock.now() + 2_000;
    rig.repeatIf(() => rig.clock.now() < until);
    rig.answers.push(UNKNOWN);
    await rig.put(["one"]);
    rig.connect(false);
    rig.clock.advance(5_000);
    await settled();
    rig.connect(true);
    await settled();
    expect(rig.texts()).toEqual(["one"]);
    expect(rig.states()).toEqual(["unknown"]);
  });

  it("stays unknown when the repeat is refused, or its day is over [CH-UNSURE-6]", async () => {
    for (const later of ["refused", "expired"]) {
      const rig = startDelivery();
      rig.repeatIf(() => true);
      rig.answers.push(UNKNOWN, { status: "failed", reason: "No." });
      await rig.put(["one"]);
      if (later === "expired") rig.connect(false);
      rig.clock.advance(later === "expired" ? DAY_MS : 3_000);
      await settled();
      if (later === "expired") rig.connect(true);
      await settled();
      expect(rig.states()).toEqual(["unknown"]);
    }
  });

  it("that a change of a text was is repeated only as that change: the message of its own is not [CH-UNSURE-2, CH-UNSURE-3]", async () => {
    const rig = startDelivery();
    rig.repeatIf(({ replaces }) => replaces !== undefined);
    const target = { chatId: "c", reply: {}, receivedAt: rig.clock.now() };
    await rig.delivery.progress({ place: PLACE, chatId: "c", inbox: 7, target }, "so far …");
    await settled();
    rig.answers.push(UNKNOWN, { status: "failed", reason: "Too old to change." }, UNKNOWN);
    await rig.put(["the answer"], { inbox: 7, replaces: true });
    rig.clock.advance(3_000);
    await settled();
    rig.clock.advance(60_000);
    await settled();
    expect(rig.sent.map(({ replaces }) => replaces)).toEqual([undefined, "p", "p", undefined]);
    expect(rig.states()).toEqual(["sent", "unknown"]);
  });
});

describe("a crash while something was being sent", () => {
  const crashed = async (repeatable: boolean) => {
    const first = startDelivery();
    first.answers.push(() => new Promise(() => {}));
    await first.put(["one", "two"]);
    expect(first.states()).toEqual(["sending", "pending"]);
    const rig = startDelivery({ db: first.db, clock: first.clock, journal: first.journal });
    rig.repeatIf(() => repeatable);
    await rig.delivery.recover();
    rig.delivery.wakeAll();
    await settled();
    return { rig, key: first.sent[0]!.key };
  };

  it("leaves it unknown where it could arrive twice [CH-UNSURE-3]", async () => {
    const { rig } = await crashed(false);
    expect(rig.texts()).toEqual(["two"]);
    expect(rig.states()).toEqual(["unknown", "sent"]);
    expect(rig.outcomes).toEqual(["unknown", "sent"]);
  });

  it("repeats it with its key where the provider takes it once [CH-UNSURE-2]", async () => {
    const { rig, key } = await crashed(true);
    expect(rig.texts()).toEqual(["one", "two"]);
    expect(rig.sent[0]!.key).toBe(key);
    expect(rig.states()).toEqual(["sent", "sent"]);
  });

  it("ends what was sent for a caller who is gone [CH-UNSURE-3]", async () => {
    const first = startDelivery();
    first.answers.push(() => new Promise(() => {}));
    const target = { chatId: "c", reply: {}, receivedAt: 0 };
    const content = { kind: "text", text: "now" } as const;
    void first.delivery.now({ place: PLACE, chatId: "c", inbox: null, purpose: "direct", target, content });
    await settled();
    const rig = startDelivery({ db: first.db, journal: first.journal });
    rig.repeatIf(() => true);
    await rig.delivery.recover();
    rig.delivery.wakeAll();
    await settled();
    expect(rig.texts()).toEqual([]);
    expect(rig.states()).toEqual(["unknown"]);
  });
});

describe("what may not have arrived", () => {
  it("is listed with its text, and sent again once, behind what waits [CH-UNSURE-4, CH-UNSURE-5]", async () => {
    const rig = startDelivery();
    rig.answers.push(UNKNOWN, { status: "failed", reason: "Blocked." }, SENT);
    await rig.put(["one", "two", "three"]);
    const { list, sendAgain, unknown } = rig.delivery.unsettled;
    const all = await list("a", { limit: 50 });
    expect(all.map(({ id, state, text, sendable }) => [id, state, text, sendable])).toEqual([
      [2, "failed", "two", true],
      [1, "unknown", "one", true],
    ]);
    expect(await list("a", { state: "failed", limit: 50 })).toHaveLength(1);
    expect(await list("b", { limit: 50 })).toEqual([]);
    await Promise.allSettled([sendAgain("a", 1), sendAgain("a", 1)]);
    await settled();
    expect(rig.texts()).toEqual(["one", "two", "three", "one"]);
    expect(await unknown(PLACE)).toBe(0);
    expect((await list("a", { state: "unknown", limit: 1 }))[0]).toMatchObject({
      sendable: false,
      text: null,
    });
    await expect(sendAgain("a", 1)).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(sendAgain("a", 3)).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(sendAgain("a", 99)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(sendAgain("b", 2)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("shows no pairing code [CH-UNSURE-4]", async () => {
    const rig = startDelivery();
    rig.answers.push({ status: "failed", reason: "Blocked." });
    await rig.store.commit(
      rig.delivery.add({
        place: PLACE,
        chatId: "c",
        inbox: null,
        purpose: "knock",
        target: { chatId: "c", reply: {}, receivedAt: 0 },
        contents: [{ kind: "text", text: "Your code is ABC234" }],
      }),
    );
    rig.delivery.wake(PLACE, "c");
    await settled();
    expect(await rig.delivery.unsettled.list("a", { limit: 1 })).toMatchObject([
      { purpose: "knock", text: null, sendable: true },
    ]);
  });
});
