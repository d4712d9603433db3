import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { SendOutcome } from "../../../../packages/gateway/src/channels/types.ts";
import { PLACE, SENT, settled, startDelivery } from "./harness.ts";

type Rig = ReturnType<typeof startDelivery>;
const REFUSED: SendOutcome = { status: "failed", reason: "The chat is gone." };

describe("what is told of a message that did not arrive", () => {
  const add = (rig: Rig, purpose: "reply" | "progress" | "direct", account = "") =>
    rig.store.commit(
      rig.delivery.add({
        place: { ...PLACE, account },
        chatId: "c",
        inbox: 5,
        purpose,
        target: { chatId: "c", reply: {}, receivedAt: 0 },
        contents: [{ kind: "text", text: purpose }],
      }),
    );
  const events = (rig: Rig) =>
    rig.db.all<{ data: string }>("SELECT data FROM events ORDER BY id").map(({ data }) => JSON.parse(data));

  it("names its account where the channel has some, and nothing is told of a progress message [EVENT-13]", async () => {
    const rig = startDelivery();
    rig.answers.push(REFUSED, REFUSED, REFUSED);
    await add(rig, "progress");
    await add(rig, "reply");
    await add(rig, "reply", "work");
    rig.delivery.wakeAll();
    await settled();
    expect(rig.states()).toEqual(["failed", "failed", "failed"]);
    const event = { channel: "sigchat", chatId: "c", attempts: 1 };
    const told = events(rig).toSorted((a, b) => a.deliveryId - b.deliveryId);
    expect(told).toEqual([
      { ...event, deliveryId: 2 },
      { ...event, deliveryId: 3, accountId: "work" },
    ]);
  });

  it("comes from the provider later, once, in its first words or in the gateway's [EVENT-13, CH-OUTBOX-2]", async () => {
    const rig = startDelivery();
    rig.answers.push({ status: "sent", messageId: "p1" }, { status: "sent", messageId: "p2" });
    await rig.put(["one", "two"]);
    await rig.delivery.receipt(PLACE, { messageId: "p1", state: "failed" });
    await rig.delivery.receipt(PLACE, { messageId: "p2", state: "failed", reason: "No such number." });
    await rig.delivery.receipt(PLACE, { messageId: "p2", state: "failed" });
    expect(rig.rows("state, reason")).toEqual([
      { state: "failed", reason: "The provider could not deliver the message." },
      { state: "failed", reason: "No such number." },
    ]);
    expect(rig.told()).toEqual(["delivery.failed 1", "delivery.failed 2"]);
  });

  it("after a crash is said of what a caller waited for, once [EVENT-13]", async () => {
    const first = startDelivery();
    first.answers.push(() => new Promise(() => {}));
    const target = { chatId: "c", reply: {}, receivedAt: 0 };
    const content = { kind: "text", text: "now" } as const;
    void first.delivery.now({ place: PLACE, chatId: "c", inbox: null, purpose: "direct", target, content });
    await settled();
    for (let starts = 0; starts < 2; starts++) {
      const rig = startDelivery({ db: first.db, journal: first.journal, boot: "another" });
      await rig.delivery.recover();
      expect(rig.told()).toEqual(["delivery.unknown 1"]);
      expect(rig.rows("state, reason")).toEqual([
        { state: "unknown", reason: "The gateway stopped while this was being sent." },
      ]);
    }
  });

  it("is why it cannot be sent again [CH-UNSURE-5]", async () => {
    const rig = startDelivery();
    rig.answers.push(REFUSED, SENT, REFUSED);
    await rig.put(["one", "two"]);
    await add(rig, "progress");
    rig.delivery.wakeAll();
    await settled();
    const { sendAgain } = rig.delivery.unsettled;
    await sendAgain("a", 1);
    const again = "It has already been sent again, or its content is no longer stored.";
    const never = "Only a delivery that failed or has an unknown outcome can be sent again.";
    await expect(sendAgain("a", 1)).rejects.toMatchObject({ message: again });
    await expect(sendAgain("a", 2)).rejects.toMatchObject({ message: never });
    await expect(sendAgain("a", 3)).rejects.toMatchObject({ message: never });
  });
});

describe("a message that cannot be sent", () => {
  it("because its file is gone has failed, and what follows goes out [CH-OUT-4]", async () => {
    const rig = startDelivery();
    const path = join(tmpdir(), "no-such-file-of-a-test");
    const file = { kind: "file", path, mime: "text/plain", name: "plan.txt", caption: "The plan" } as const;
    await rig.store.commit(
      rig.delivery.add({
        place: PLACE,
        chatId: "c",
        inbox: null,
        purpose: "reply",
        target: { chatId: "c", reply: {}, receivedAt: 0 },
        contents: [file, { kind: "text", text: "two" }],
      }),
    );
    rig.delivery.wake(PLACE, "c");
    await vi.waitFor(() => expect(rig.states()).toEqual(["failed", "sent"]));
    expect(rig.texts()).toEqual(["two"]);
    expect(await rig.delivery.unsettled.list("a", { limit: 5 })).toMatchObject([
      { reason: "The file no longer exists.", text: "The plan\n[plan.txt]" },
    ]);
  });

  it("because its adapter broke may have arrived [CH-OUT-1]", async () => {
    const rig = startDelivery();
    rig.answers.push(() => Promise.reject(new Error("x is not a function")));
    await rig.put(["one"]);
    expect(rig.rows("state, reason")).toEqual([
      { state: "unknown", reason: "Sending failed unexpectedly; see the log for details." },
    ]);
  });

  it("and gets no answer may have arrived: its request is ended, and what follows goes out [CH-OUT-1]", async () => {
    const rig = startDelivery();
    const { send } = rig.adapter;
    let ended = false;
    rig.adapter.send = (outgoing, signal) => {
      signal.addEventListener("abort", () => {
        ended = true;
      });
      return send(outgoing, signal);
    };
    rig.answers.push(() => new Promise(() => {}));
    await rig.put(["one", "two"]);
    rig.clock.advance(74_999);
    await settled();
    expect([ended, rig.sent.length]).toEqual([false, 1]);
    rig.clock.advance(1);
    await settled();
    expect(ended).toBe(true);
    expect(rig.rows("state, reason")).toEqual([
      { state: "unknown", reason: "The provider did not answer in time." },
      { state: "sent", reason: null },
    ]);
    expect(rig.clock.timers()).toBe(0);
  });
});

describe("a request that must not go out yet", () => {
  it("is that of an agent that this gateway may have lost: it is tried again [CH-OUT-3]", async () => {
    const rig = startDelivery();
    const { forAgent } = rig.store;
    let reaches = false;
    rig.store.forAgent = (id) => ({ ...forAgent(id), reaches: () => reaches });
    await rig.put(["one", "two"]);
    expect(rig.texts()).toEqual([]);
    expect(rig.states()).toEqual(["pending", "pending"]);
    reaches = true;
    rig.clock.advance(2_000);
    await settled();
    expect(rig.texts()).toEqual(["one", "two"]);
  });

  it("is a message of its own in place of a change, until the store has that [CH-OUT-7]", async () => {
    const rig = startDelivery();
    const target = { chatId: "c", reply: {}, receivedAt: rig.clock.now() };
    await rig.delivery.progress({ place: PLACE, chatId: "c", inbox: 7, target }, "so far");
    await settled();
    const { write } = rig.db;
    rig.db.write = async (...statements) => {
      if (statements.some(({ sql }) => /SET provider_id = NULL/.test(sql))) throw new Error("disk I/O error");
      return write(...statements);
    };
    rig.answers.push(REFUSED);
    await rig.put(["the answer"], { inbox: 7, replaces: true });
    expect(rig.sent.map(({ replaces }) => replaces)).toEqual([undefined, "p"]);
    expect(rig.states()).toEqual(["sent", "pending"]);
    rig.db.write = write;
    rig.answers.push(REFUSED);
    rig.clock.advance(2_000);
    await settled();
    expect(rig.sent.map(({ replaces }) => replaces)).toEqual([undefined, "p", "p", undefined]);
    expect(rig.states()).toEqual(["sent", "sent"]);
  });
});
