import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import type { SendOutcome } from "../../../../packages/gateway/src/channels/types.ts";
import { memoryDatabase } from "../../../fixtures/memory-db.ts";
import { journalPath, PLACE, SENT, settled, startDelivery, UNKNOWN } from "./harness.ts";

const never = () => new Promise<never>(() => {});

/** Another process on the same home. */
async function restarted(
  { db, clock, journal }: ReturnType<typeof startDelivery>,
  { boot = "one" as string | null, repeatable = false } = {},
) {
  const rig = startDelivery({ db, clock, journal, boot });
  rig.repeatIf(() => repeatable);
  await rig.delivery.recover();
  rig.delivery.wakeAll();
  await settled();
  return rig;
}

/** A process that dies with its first message before the request goes out. */
async function diedBefore() {
  const rig = startDelivery({ between: never });
  await rig.delivery.recover();
  await rig.put(["one", "two"]);
  expect(rig.states()).toEqual(["sending", "pending"]);
  return rig;
}

/** A process that dies after its provider's answer, before the database knows it. */
async function diedAfter(answer: SendOutcome, earlier: readonly SendOutcome[] = []) {
  let frozen = false;
  const db = memoryDatabase();
  const write: typeof db.write = (...unit) => (frozen ? never() : db.write(...unit));
  const rig = startDelivery({ db: { ...db, write } });
  await rig.delivery.recover();
  rig.repeatIf(() => true);
  rig.answers.push(...earlier, async () => {
    frozen = true;
    return answer;
  });
  await rig.put(["one", "two"]);
  for (const _ of earlier) {
    rig.clock.advance(3_000);
    await settled();
  }
  expect(rig.states()).toEqual(["sending", "pending"]);
  return { ...rig, db };
}

describe("a process that is killed while something is sent", () => {
  it("has surely not sent what had not begun: it goes out, once and in order [CH-JOURNAL-1]", async () => {
    const rig = await restarted(await diedBefore());
    expect(rig.texts()).toEqual(["one", "two"]);
    expect(rig.sent[0]!.uncertainAt).toBeUndefined();
    expect(rig.states()).toEqual(["sent", "sent"]);
  });

  it("leaves that open after another boot, or without its journal [CH-JOURNAL-2]", async () => {
    for (const boot of ["two", null]) {
      const rig = await restarted(await diedBefore(), { boot });
      expect(rig.texts()).toEqual(["two"]);
      expect(rig.states()).toEqual(["unknown", "sent"]);
    }
    const first = await diedBefore();
    rmSync(first.journal);
    expect((await restarted(first)).states()).toEqual(["unknown", "sent"]);
  });

  it("twice, has not sent what had begun in neither [CH-JOURNAL-1]", async () => {
    const first = await diedBefore();
    const second = startDelivery({ ...first, between: never });
    await second.delivery.recover();
    second.delivery.wakeAll();
    await settled();
    expect(second.states()).toEqual(["sending", "pending"]);
    expect((await restarted(first)).states()).toEqual(["sent", "sent"]);
  });

  it("leaves an earlier attempt as uncertain as it was [CH-JOURNAL-1, CH-UNSURE-3]", async () => {
    let block = false;
    const first = startDelivery({ between: () => (block ? never() : Promise.resolve()) });
    await first.delivery.recover();
    first.repeatIf(() => true);
    first.answers.push(UNKNOWN);
    await first.put(["one"]);
    block = true;
    first.clock.advance(3_000);
    await settled();
    expect(first.states()).toEqual(["sending"]);
    expect((await restarted(first)).states()).toEqual(["unknown"]);
  });

  it("ends what it had not begun for a caller who is gone as failed [CH-JOURNAL-1]", async () => {
    const first = startDelivery({ between: never });
    await first.delivery.recover();
    const target = { chatId: "c", reply: {}, receivedAt: 0 };
    const content = { kind: "text", text: "now" } as const;
    void first.delivery.now({ place: PLACE, chatId: "c", inbox: null, purpose: "direct", target, content });
    await settled();
    const rig = await restarted(first, { repeatable: true });
    expect(rig.texts()).toEqual([]);
    expect(rig.rows("state, reason")).toEqual([
      { state: "failed", reason: "The gateway ended before this was sent." },
    ]);
  });
});

describe("a process that is killed between the answer and its row", () => {
  it("knows that it was sent, and by which id [CH-JOURNAL-3]", async () => {
    const rig = await restarted(await diedAfter(SENT));
    expect(rig.texts()).toEqual(["two"]);
    expect(rig.rows("state, provider_id, content")[0]).toEqual({
      state: "sent",
      provider_id: "p",
      content: null,
    });
  });

  it("tries again what was not taken, and not what was refused [CH-JOURNAL-3]", async () => {
    const again = await restarted(await diedAfter({ status: "retry", reason: "Busy.", afterMs: 500 }));
    expect(again.texts()).toEqual([]);
    again.clock.advance(500);
    await settled();
    expect(again.texts()).toEqual(["one", "two"]);
    const plain = await restarted(await diedAfter({ status: "markup", reason: "Odd." }));
    expect(plain.sent[0]!.content).toMatchObject({ text: "one", plain: true });
    const refused = await restarted(await diedAfter({ status: "failed", reason: "No." }));
    expect(refused.texts()).toEqual(["two"]);
    expect(refused.rows("state, reason")[0]).toEqual({ state: "failed", reason: "No." });
  });

  it("does not take the refusal of a repeated attempt for that of the first [CH-JOURNAL-3, CH-UNSURE-6]", async () => {
    const rig = await restarted(await diedAfter({ status: "failed", reason: "No." }, [UNKNOWN]));
    expect(rig.states()).toEqual(["unknown", "sent"]);
  });

  it("leaves an unknown outcome unknown, or repeats it where it arrives once [CH-JOURNAL-3, CH-UNSURE-2]", async () => {
    expect((await restarted(await diedAfter(UNKNOWN))).states()).toEqual(["unknown", "sent"]);
    const rig = await restarted(await diedAfter(UNKNOWN), { repeatable: true });
    expect(rig.texts()).toEqual(["one", "two"]);
  });
});

describe("a change of a text that is refused", () => {
  it("and a crash before the message of its own lead to that message, once [CH-JOURNAL-3]", async () => {
    const first = startDelivery({ between: async () => {} });
    await first.delivery.recover();
    const target = { chatId: "c", reply: {}, receivedAt: first.clock.now() };
    await first.delivery.progress({ place: PLACE, chatId: "c", inbox: 7, target }, "so far …");
    await settled();
    first.answers.push({ status: "failed", reason: "Too old to change." });
    let blocked = false;
    const send = first.adapter.send;
    first.adapter.send = (outgoing, signal) => {
      if (outgoing.replaces !== undefined || outgoing.content.kind !== "text") return send(outgoing, signal);
      blocked = true;
      return never();
    };
    await first.put(["the answer"], { inbox: 7, replaces: true });
    expect(blocked).toBe(true);
    const rig = await restarted(first);
    rig.clock.advance(2_000);
    await settled();
    expect(rig.texts()).toEqual(["the answer"]);
    expect(rig.sent[0]!.replaces).toBeUndefined();
    expect(rig.states()).toEqual(["sent", "sent"]);
  });
});

describe("a send that cannot be recorded", () => {
  it("is not made, and made when it can be [CH-JOURNAL-5]", async () => {
    const journal = journalPath();
    mkdirSync(dirname(dirname(journal)), { recursive: true });
    writeFileSync(dirname(journal), "");
    const rig = startDelivery({ journal });
    await rig.delivery.recover();
    await rig.put(["one"]);
    expect(rig.texts()).toEqual([]);
    expect(rig.rows("state, reason")).toEqual([
      { state: "pending", reason: "The gateway could not record the attempt to send; the disk may be full." },
    ]);
    rmSync(dirname(journal));
    rig.clock.advance(2_000);
    await settled();
    expect(rig.texts()).toEqual(["one"]);
    expect(rig.states()).toEqual(["sent"]);
  });

  it("late is not made: an attempt that did not begin in its time is made again [CH-JOURNAL-5]", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let first = true;
    const rig = startDelivery({
      between: () => {
        if (!first) return Promise.resolve();
        first = false;
        return promise;
      },
    });
    await rig.delivery.recover();
    await rig.put(["one"]);
    rig.clock.advance(75_000);
    await settled();
    resolve();
    await settled();
    expect(rig.texts()).toEqual([]);
    expect(rig.states()).toEqual(["pending"]);
    rig.clock.advance(2_000);
    await settled();
    expect(rig.texts()).toEqual(["one"]);
    expect(rig.states()).toEqual(["sent"]);
  });
});
