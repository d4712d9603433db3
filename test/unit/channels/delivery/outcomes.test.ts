import { mkdtempSync, rmSync } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { SendOutcome } from "../../../../packages/gateway/src/channels/types.ts";
import { PLACE, SENT, settled, startDelivery, UNKNOWN } from "./harness.ts";

type Rig = ReturnType<typeof startDelivery>;
const DAY_MS = 24 * 3_600_000;
const REFUSED: SendOutcome = { status: "failed", reason: "The chat is gone." };
const later = (afterMs?: number): SendOutcome => ({
  status: "retry",
  reason: "busy",
  ...(afterMs !== undefined && { afterMs }),
});
const pass = async (rig: Rig, ms: number) => {
  rig.clock.advance(ms);
  await settled();
};

describe("a message that the provider did not take", () => {
  it("is sent again after the pause that the provider asks for, and what follows waits for it [CH-OUT-2, CH-OUT-3]", async () => {
    const rig = startDelivery();
    rig.answers.push(later(7_000));
    await rig.put(["one", "two"]);
    expect(rig.rows("state, attempts, reason")).toEqual([
      { state: "pending", attempts: 1, reason: "busy" },
      { state: "pending", attempts: 0, reason: null },
    ]);
    await pass(rig, 6_999);
    expect(rig.texts()).toEqual(["one"]);
    await pass(rig, 1);
    expect(rig.texts()).toEqual(["one", "one", "two"]);
    expect(rig.states()).toEqual(["sent", "sent"]);
    expect(rig.sent[1]!.key).toBe(rig.sent[0]!.key);
    expect(rig.outcomes).toEqual(["retry", "sent", "sent"]);
  });

  it("is not sent again at once, even if the provider asks for no pause [CH-OUT-2]", async () => {
    const rig = startDelivery();
    rig.answers.push(later(0));
    await rig.put(["one"]);
    await pass(rig, 249);
    expect(rig.sent).toHaveLength(1);
    await pass(rig, 1);
    expect(rig.sent).toHaveLength(2);
  });

  it("waits longer after each failure, half a minute or so at most, and from a second again after a success [CH-OUT-3]", async () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(0.5);
    onTestFinished(() => random.mockRestore());
    const rig = startDelivery();
    const pauses: number[] = [];
    rig.answers.push(...Array.from({ length: 8 }, () => later()));
    await rig.put(["one"]);
    for (let tries = 1; tries < 9; tries++) {
      const { next_at } = rig.rows("next_at")[0] as { next_at: number };
      pauses.push(next_at - rig.clock.now());
      await pass(rig, next_at - rig.clock.now());
      expect(rig.sent).toHaveLength(tries + 1);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    rig.answers.push(later());
    await rig.put(["two"]);
    expect((rig.rows("next_at")[1] as { next_at: number }).next_at - rig.clock.now()).toBe(1_000);
  });

  it("waits up to a quarter less or more, so that many chats do not come back at once [CH-OUT-3]", async () => {
    const random = vi.spyOn(Math, "random");
    onTestFinished(() => random.mockRestore());
    for (const [number, pause] of [
      [0, 750],
      [1, 1_250],
    ] as const) {
      random.mockReturnValue(number);
      const rig = startDelivery();
      rig.answers.push(later());
      await rig.put(["one"]);
      expect((rig.rows("next_at")[0] as { next_at: number }).next_at - rig.clock.now()).toBe(pause);
    }
  });

  it("does not wait longer because of pauses that the provider asked for [CH-OUT-2]", async () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(0.5);
    onTestFinished(() => random.mockRestore());
    const rig = startDelivery();
    rig.answers.push(later(300), later(300), later(300), later());
    await rig.put(["one"]);
    for (let n = 0; n < 3; n++) await pass(rig, 300);
    expect(rig.sent).toHaveLength(4);
    expect((rig.rows("next_at")[0] as { next_at: number }).next_at - rig.clock.now()).toBe(1_000);
  });

  it("does not wait for a clock that was set back [CH-CLOCK-1]", async () => {
    const rig = startDelivery();
    rig.answers.push(later(10_000));
    await rig.put(["one"]);
    rig.clock.jump(-DAY_MS);
    rig.delivery.wakeAll();
    await settled();
    expect(rig.states()).toEqual(["sent"]);
  });

  it("goes out as plain text if its markup was refused, once [CH-OUT-4]", async () => {
    const rig = startDelivery();
    const refused: SendOutcome = { status: "markup", reason: "can't parse entities" };
    rig.answers.push(refused);
    await rig.put(["*one*"]);
    expect(rig.sent.map(({ content }) => content)).toEqual([
      { kind: "text", text: "*one*" },
      { kind: "text", text: "*one*", plain: true },
    ]);
    rig.answers.push(refused, refused);
    await rig.put(["*two*"]);
    expect(rig.rows("state, reason")[1]).toEqual({ state: "failed", reason: "can't parse entities" });
    expect(rig.sent).toHaveLength(4);
  });

  it("holds nothing up when it is refused, and its owner is told once [CH-OUT-4, EVENT-13]", async () => {
    const rig = startDelivery();
    rig.answers.push(REFUSED);
    await rig.put(["one", "two"]);
    expect(rig.rows("state, reason")).toEqual([
      { state: "failed", reason: "The chat is gone." },
      { state: "sent", reason: null },
    ]);
    expect(rig.told()).toEqual(["delivery.failed 1"]);
  });

  it("in a day is given up with its latest reason, or with what kept it [CH-OUT-4]", async () => {
    const rig = startDelivery();
    rig.answers.push(later(DAY_MS));
    await rig.put(["one"]);
    await pass(rig, DAY_MS);
    expect(rig.rows("state, reason")).toEqual([{ state: "failed", reason: "busy" }]);
    rig.connect(false);
    await rig.put(["two"]);
    await pass(rig, DAY_MS - 1);
    rig.delivery.wakeAll();
    await settled();
    expect(rig.states()[1]).toBe("pending");
    await pass(rig, 1);
    rig.delivery.wakeAll();
    await settled();
    expect(rig.rows("state, reason")[1]).toEqual({
      state: "failed",
      reason: "The channel was off for a day.",
    });
    expect(rig.texts()).toEqual(["one"]);
  });
});

describe("a message that somebody waits for", () => {
  const direct = (rig: Rig, text = "now") =>
    rig.delivery.now({
      place: PLACE,
      chatId: "c",
      inbox: null,
      purpose: "direct",
      target: { chatId: "c", reply: {}, receivedAt: 0 },
      content: { kind: "text", text },
    });

  it("goes out ahead of what waits, and its outcome is the answer", async () => {
    const rig = startDelivery();
    rig.answers.push(later(60_000));
    await rig.put(["one"]);
    expect(await direct(rig)).toEqual(SENT);
    expect(rig.texts()).toEqual(["one", "now"]);
    expect(rig.rows("state, purpose")[1]).toEqual({ state: "sent", purpose: "direct" });
    expect(rig.outcomes).toEqual(["retry", "sent"]);
  });

  it("is tried once: what might be taken later has failed [EVENT-13]", async () => {
    const rig = startDelivery();
    rig.answers.push(later(1_000), { status: "markup", reason: "no markup" }, UNKNOWN);
    for (let n = 0; n < 3; n++) await direct(rig);
    await pass(rig, 60_000);
    expect(rig.sent).toHaveLength(3);
    expect(rig.rows("state, reason")).toEqual([
      { state: "failed", reason: "busy" },
      { state: "failed", reason: "no markup" },
      { state: "unknown", reason: "The connection broke." },
    ]);
    expect(rig.told()).toEqual(["delivery.failed 1", "delivery.failed 2", "delivery.unknown 3"]);
  });

  it("has failed at once while the channel is not connected, and leaves no row", async () => {
    const rig = startDelivery();
    rig.connect(false);
    expect(await direct(rig)).toEqual({ status: "failed", reason: "The channel is not connected." });
    expect(rig.rows()).toEqual([]);
  });
});

describe("a reply of several parts", () => {
  it("numbers them, and only the first takes the place of a progress message [CH-OUT-7]", async () => {
    const rig = startDelivery();
    rig.adapter.edit = async () => {};
    const target = { chatId: "c", reply: {}, receivedAt: rig.clock.now() };
    await rig.delivery.progress({ place: PLACE, chatId: "c", inbox: 5, target }, "so far");
    await settled();
    rig.answers.push({ status: "sent", messageId: "x" });
    await rig.put(["one", "two", "three"], { inbox: 5, replaces: true });
    expect(rig.sent.map(({ target: { part }, replaces }) => [part, replaces])).toEqual([
      [undefined, undefined],
      [undefined, "p"],
      [1, undefined],
      [2, undefined],
    ]);
    expect(new Set(rig.sent.map(({ key }) => key)).size).toBe(4);
  });

  it("completes a handshake with the last: its file goes when that is sent [CH-OUTBOX-5]", async () => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-unit-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "handshake.json");
    await writeFile(file, "{}");
    const there = () =>
      stat(file).then(
        () => true,
        () => false,
      );
    const rig = startDelivery();
    rig.answers.push(SENT, later(1_000));
    await rig.store.commit(
      rig.delivery.add({
        place: PLACE,
        chatId: "c",
        inbox: null,
        purpose: "reply",
        target: { chatId: "c", reply: {}, receivedAt: 0, handshake: file },
        contents: [
          { kind: "text", text: "one" },
          { kind: "text", text: "two" },
        ],
      }),
    );
    rig.delivery.wake(PLACE, "c");
    await settled();
    expect(rig.states()).toEqual(["sent", "pending"]);
    expect(await there()).toBe(true);
    await pass(rig, 1_000);
    await vi.waitFor(() => expect(there()).resolves.toBe(false));
    expect(rig.sent.every(({ target }) => !("handshake" in target))).toBe(true);
  });
});

describe("progress of a turn", () => {
  it("is changed only where it arrived, to the newest text [CH-OUT-7]", async () => {
    const edits: string[] = [];
    const rig = startDelivery();
    rig.adapter.edit = async (_target, id, text) => void edits.push(`${id} ${text}`);
    const target = { chatId: "c", reply: {}, receivedAt: rig.clock.now() };
    const show = (inbox: number) =>
      rig.delivery.progress({ place: PLACE, chatId: "c", inbox, target }, "so far");
    rig.answers.push(REFUSED, { status: "sent" }, { status: "sent", messageId: "p3" });
    for (const inbox of [1, 2, 3]) {
      await show(inbox);
      await settled();
    }
    for (const inbox of [1, 2, 3, 4]) {
      rig.delivery.changeProgress(PLACE, "c", inbox, "more");
      await settled();
    }
    expect(edits).toEqual(["p3 more"]);
    rig.delivery.changeProgress(PLACE, "c", 3, "older");
    rig.delivery.changeProgress(PLACE, "c", 3, "newest");
    await settled();
    expect(edits.at(-1)).toBe("p3 newest");
    delete rig.adapter.edit;
    rig.delivery.changeProgress(PLACE, "c", 3, "not shown");
    await settled();
    await rig.put(["two"]);
    expect(rig.texts().at(-1)).toBe("two");
  });
});

describe("the end of a gateway", () => {
  it("waits two seconds for what is being sent, and begins nothing more [CH-JOURNAL-1]", async () => {
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    const rig = startDelivery();
    rig.answers.push(() => promise);
    await rig.put(["one", "two"]);
    let closed = false;
    const closing = rig.delivery.close().then(() => {
      closed = true;
    });
    await pass(rig, 1_999);
    expect(closed).toBe(false);
    resolve(SENT);
    await closing;
    expect(rig.states()).toEqual(["sent", "pending"]);
    rig.delivery.wakeAll();
    await settled();
    expect(rig.texts()).toEqual(["one"]);

    const stuck = startDelivery();
    stuck.answers.push(() => new Promise(() => {}));
    await stuck.put(["one"]);
    const ended = stuck.delivery.close();
    await pass(stuck, 2_000);
    await ended;
    expect(stuck.states()).toEqual(["sending"]);
  });
});
