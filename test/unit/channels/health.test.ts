import { describe, expect, it } from "vitest";
import { createHealth } from "../../../packages/gateway/src/channels/health.ts";
import type { ChannelPlace } from "../../../packages/gateway/src/channels/types.ts";
import { heldReads } from "../../fixtures/held-reads.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { createStore } from "../../fixtures/memory-db.ts";

const PLACE: ChannelPlace = { agentId: "a", channel: "botchat", account: "" };
const SENDING = {
  place: PLACE,
  chatId: "c",
  inbox: null,
  purpose: "reply",
  key: "k",
  target: "{}",
  content: "{}",
} as const;

async function start() {
  const reads = heldReads();
  const store = createStore(reads.db);
  const clock = manualClock(5_000);
  const [row] = await store.commit(store.outbox.addSending(SENDING, 900));
  await store.commit(
    store.inbox.add(
      {
        ...SENDING,
        eventId: "e",
        messageId: undefined,
        messageKey: undefined,
        senderId: "u",
        message: "{}",
        state: "waiting",
      },
      1_000,
    ),
    store.outbox.settle(row.id, "sent", 2_000, {}),
  );
  const health = createHealth({ store, clock });
  const sources = {
    state: () => undefined,
    queued: store.inbox.queued,
    unknown: store.outbox.unknown,
  };
  const look = async () => (await health.reports([PLACE], sources))[0]!;
  return { reads, health, look };
}

describe("the state of a place", () => {
  it("is what the rows say after a start", async () => {
    const { look } = await start();
    expect(await look()).toMatchObject({
      lastInboundAt: 1_000,
      lastOutboundAt: 2_000,
      lastError: null,
      queued: 1,
    });
  });

  it("has what happened while it was being read [CH-BETWEEN-6]", async () => {
    const { reads, health, look } = await start();
    reads.hold("ORDER BY id DESC LIMIT 1");
    const report = look();
    health.onInbound(PLACE);
    health.onOutcome(PLACE, { status: "sent" });
    reads.release();
    expect(await report).toMatchObject({ lastInboundAt: 5_000, lastOutboundAt: 5_000 });
    expect(await look()).toMatchObject({ lastInboundAt: 5_000, lastOutboundAt: 5_000 });
  });

  it("keeps when a message last went out, whatever fails before the first look and after it", async () => {
    const { health, look } = await start();
    health.onOutcome(PLACE, { status: "failed", reason: "No." });
    expect(await look()).toMatchObject({ lastOutboundAt: 2_000, lastError: "No." });
    health.onOutcome(PLACE, { status: "markup", reason: "Odd." });
    expect(await look()).toMatchObject({ lastOutboundAt: 2_000, lastError: "No." });
    health.onOutcome(PLACE, { status: "sent" });
    expect(await look()).toMatchObject({ lastOutboundAt: 5_000, lastError: null });
  });
});
