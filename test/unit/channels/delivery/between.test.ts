import { describe, expect, it } from "vitest";
import type { SendOutcome } from "../../../../packages/gateway/src/channels/types.ts";
import { heldReads } from "../../../fixtures/held-reads.ts";
import { PLACE, SENT, settled, startDelivery, UNKNOWN } from "./harness.ts";

const NEXT = "state = 'pending' ORDER BY id LIMIT 1";

/** A delivery with a reply that is being read for its first attempt. */
async function reading(between?: () => Promise<void>) {
  const reads = heldReads(between);
  const rig = startDelivery({ db: reads.db });
  reads.hold(NEXT);
  await rig.put(["one"]);
  expect(reads.waiting()).toBe(1);
  return { rig, reads };
}

/** The same with a reply that an earlier attempt may have delivered. */
async function readingUncertain() {
  const reads = heldReads();
  const rig = startDelivery({ db: reads.db });
  rig.repeatIf(() => true);
  rig.answers.push(UNKNOWN);
  await rig.put(["one"]);
  reads.hold(NEXT);
  rig.clock.advance(3_000);
  await settled();
  expect(rig.texts()).toEqual(["one"]);
  expect(reads.waiting()).toBe(1);
  const key = rig.sent[0]!.key;
  return { rig, reads, receive: () => rig.delivery.receipt(PLACE, { messageId: "p1", key, state: "sent" }) };
}

describe("while the next reply of a chat is being read", () => {
  it("another one is put out, and follows [CH-BETWEEN-1]", async () => {
    const { rig, reads } = await reading();
    reads.release();
    await settled();
    reads.hold(NEXT);
    rig.delivery.wake(PLACE, "c");
    await settled();
    expect(reads.waiting()).toBe(1);
    // The answer that is held back does not have it.
    await rig.put(["two"]);
    reads.release();
    await settled();
    expect(rig.texts()).toEqual(["one", "two"]);
  });

  it("it is given up, and does not go out [CH-BETWEEN-2]", async () => {
    const { rig, reads } = await reading();
    await rig.store.commit(rig.delivery.abandon({ agentId: "a" }, 1, "The agent was removed."));
    reads.release();
    await settled();
    expect(rig.texts()).toEqual([]);
    expect(rig.rows("state, attempts, reason")).toEqual([
      { state: "failed", attempts: 0, reason: "The agent was removed." },
    ]);
  });

  it("it is given up, and its day to be sent ends: the reason stays [CH-BETWEEN-2]", async () => {
    const { rig, reads } = await reading();
    await rig.store.commit(rig.delivery.abandon({ agentId: "a" }, 1, "The agent was removed."));
    rig.clock.advance(25 * 3_600_000);
    reads.release();
    await settled();
    expect(rig.rows("state, reason")).toEqual([{ state: "failed", reason: "The agent was removed." }]);
  });

  it.each([true, false])("a receipt settles it (repeatable: %s) [CH-BETWEEN-2]", async (repeatable) => {
    const { rig, reads, receive } = await readingUncertain();
    rig.repeatIf(() => repeatable);
    await receive();
    reads.release();
    await settled();
    expect(rig.texts()).toEqual(["one"]);
    expect(rig.rows("state, provider_id")).toEqual([{ state: "sent", provider_id: "p1" }]);
    expect(rig.outcomes).toEqual(["unknown"]);
  });

  it("the gateway stops: it waits for the next start [CH-BETWEEN-3]", async () => {
    const { rig, reads } = await reading();
    const closed = rig.delivery.close();
    reads.release();
    await closed;
    await settled();
    expect(rig.texts()).toEqual([]);
    expect(rig.rows("state, attempts")).toEqual([{ state: "pending", attempts: 0 }]);
  });

  it("the channel is switched off: it waits for it [CH-BETWEEN-3]", async () => {
    const { rig, reads } = await reading();
    rig.connect(false);
    reads.release();
    await settled();
    expect(rig.states()).toEqual(["pending"]);
    rig.connect(true);
    await settled();
    expect(rig.texts()).toEqual(["one"]);
  });
});

describe("while a reply is being marked as under way", () => {
  it("the channel is switched off: it waits for it, and surely did not go out [CH-BETWEEN-3]", async () => {
    let marking = (): Promise<void> => Promise.resolve();
    const { rig, reads } = await reading(() => marking());
    marking = async () => rig.connect(false);
    reads.release();
    await settled();
    marking = () => Promise.resolve();
    expect(rig.texts()).toEqual([]);
    expect(rig.rows("state, uncertain_at")).toEqual([{ state: "pending", uncertain_at: null }]);
    rig.connect(true);
    await settled();
    expect(rig.texts()).toEqual(["one"]);
    expect(rig.states()).toEqual(["sent"]);
  });
});

describe("a receipt", () => {
  it("of an attempt that ends with an unknown outcome meanwhile settles it [CH-BETWEEN-5]", async () => {
    const reads = heldReads();
    const rig = startDelivery({ db: reads.db });
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    rig.answers.push(() => promise);
    await rig.put(["one"]);
    reads.hold("UNION ALL");
    const received = rig.delivery.receipt(PLACE, { messageId: "p1", key: rig.sent[0]!.key, state: "read" });
    await settled();
    resolve(UNKNOWN);
    await settled();
    expect(rig.states()).toEqual(["unknown"]);
    reads.release();
    await received;
    expect(rig.rows("state, provider_id")).toEqual([{ state: "sent", provider_id: "p1" }]);
  });
});

describe("the progress of a turn", () => {
  it("that is shown late does not overwrite its reply [CH-BETWEEN-4]", async () => {
    const rig = startDelivery();
    const edits: string[] = [];
    rig.adapter.edit = async (_target, _id, text) => void edits.push(text);
    const target = { chatId: "c", reply: {}, receivedAt: 0 };
    await rig.delivery.progress({ place: PLACE, chatId: "c", inbox: 7, target }, "so far …");
    await settled();
    rig.delivery.changeProgress(PLACE, "c", 7, "so far, so good …");
    await settled();
    expect(edits).toEqual(["so far, so good …"]);
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    rig.answers.push(() => promise);
    await rig.put(["the answer"], { inbox: 7, replaces: true });
    rig.delivery.changeProgress(PLACE, "c", 7, "almost …");
    resolve(SENT);
    await settled();
    rig.delivery.changeProgress(PLACE, "c", 7, "there …");
    await settled();
    expect(rig.texts()).toEqual(["so far …", "the answer"]);
    expect(edits).toEqual(["so far, so good …"]);
  });
});

describe("a message that is settled", () => {
  it("gets no further answer, in the same unit or later [CH-BETWEEN-9]", async () => {
    const rig = startDelivery();
    const row = {
      place: PLACE,
      eventId: "e",
      chatId: "c",
      messageId: undefined,
      messageKey: undefined,
      senderId: "u",
      message: "{}",
      state: "waiting",
    } as const;
    const [id] = await rig.store.commit(rig.store.inbox.add(row, 1));
    const answer = (text: string) =>
      rig.delivery.add({
        place: PLACE,
        chatId: "c",
        inbox: id!,
        purpose: "reply",
        target: { chatId: "c", reply: {}, receivedAt: 1 },
        contents: [{ kind: "text", text }],
      });
    const settle = () => rig.store.inbox.settle([id!], "done", 2, null);
    const [, first] = await rig.store.commit(answer("one"), settle());
    const [, second] = await rig.store.commit(answer("two"), settle());
    expect([first, second]).toEqual([true, false]);
    expect(rig.rows("content")).toEqual([{ content: '{"kind":"text","text":"one"}' }]);
  });
});
