import { join } from "node:path";
import { routes } from "@agent-gateway/contract";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTrace } from "../../../packages/gateway/src/channels/trace.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { openDatabase } from "../../../packages/gateway/src/store/sqlite/database.ts";
import { createStore } from "../../fixtures/memory-db.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";

type Row = Record<string, string | number | null>;
const REQUEST = "0197aaaa-0000-7000-8000-000000000001";

async function open() {
  const db = openDatabase(join(await tempFolder(), "gateway.db"), systemClock);
  onTestFinished(() => db.close());
  const insert = (table: string, row: Row) =>
    db.write({
      sql: `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${Object.keys(row)
        .map(() => "?")
        .join(", ")})`,
      params: Object.values(row),
    });
  const inbox = (row: Row) =>
    insert("channel_inbox", {
      agent_id: "a",
      channel: "botchat",
      account: "",
      event_id: "e1",
      chat_id: "42",
      message_id: "m1",
      sender_id: "7",
      message: '{"text":"secret words"}',
      state: "done",
      received_at: 1000,
      ...row,
    });
  const outbox = (row: Row) =>
    insert("channel_outbox", {
      agent_id: "a",
      channel: "botchat",
      account: "",
      chat_id: "42",
      purpose: "reply",
      key: "k",
      target: "{}",
      content: '{"text":"secret words"}',
      state: "sent",
      attempts: 1,
      next_at: 0,
      created_at: 1400,
      ...row,
    });
  return { trace: createTrace(createStore(db)), insert, inbox, outbox };
}

describe("a message's trace", () => {
  it("goes from received to delivery with times, found by each of its ids, without its words [CH-HEALTH-5]", async () => {
    const { trace, insert, inbox, outbox } = await open();
    await inbox({ id: 77, request_id: REQUEST, started_at: 1100, settled_at: 1400, event_id: "update-9" });
    await insert("turns", {
      request_id: REQUEST,
      session: 1,
      kind: "channel",
      state: "done",
      started_at: 1101,
      ended_at: 1399,
    });
    await outbox({ inbox: 77, settled_at: 1500, sending_at: 1450, provider_id: "r-1" });
    await outbox({ inbox: 77, state: "pending", attempts: 3, reason: "rate limited", sending_at: null });
    const found = await trace.find("a", "77");
    expect(found).toEqual({
      message: {
        id: 77,
        direction: "in",
        channel: "botchat",
        account: "",
        chatId: "42",
        senderId: "7",
        eventId: "update-9",
        messageId: "m1",
        requestId: REQUEST,
        state: "done",
        receivedAt: 1000,
        settledAt: 1400,
        note: null,
      },
      steps: [
        { step: "received", at: 1000 },
        { step: "stored", at: 1000 },
        { step: "turn", at: 1101, state: "done", endedAt: 1399, requestId: REQUEST },
        { step: "reply", at: 1400, purpose: "reply" },
        { step: "delivery", at: 1500, state: "sent", attempts: 1, providerId: "r-1", reason: null },
        { step: "reply", at: 1400, purpose: "reply" },
        {
          step: "delivery",
          at: null,
          state: "pending",
          attempts: 3,
          providerId: null,
          reason: "rate limited",
        },
      ],
    });
    expect(routes.traceMessage.responses[200]().safeParse(found).success).toBe(true);
    expect(JSON.stringify(found)).not.toContain("secret");
    for (const id of ["update-9", "m1", REQUEST, "r-1"]) expect(await trace.find("a", id)).toEqual(found);
    expect(await trace.find("b", "77")).toBeUndefined();
    expect(await trace.find("a", "update-9", "sigchat")).toBeUndefined();
  });

  it("tells of a denial, of joined messages, and of what was sent by itself [CH-HEALTH-5]", async () => {
    const { trace, inbox, outbox } = await open();
    await inbox({
      id: 1,
      event_id: "d",
      message_id: null,
      state: "denied",
      settled_at: 1200,
      note: "ignored",
    });
    expect((await trace.find("a", "d"))?.steps.at(-1)).toEqual({
      step: "denied",
      at: 1200,
      reason: "ignored",
    });

    await inbox({ id: 2, event_id: "j1", message_id: "x1", request_id: REQUEST, state: "turn" });
    await inbox({ id: 3, event_id: "j2", message_id: "x2", request_id: REQUEST, state: "turn" });
    await outbox({ inbox: 3, state: "unknown", provider_id: null, reason: "the connection broke" });
    const states = (await trace.find("a", "j1"))?.steps.map(({ step, state }) => state ?? step);
    expect(states).toEqual(["received", "stored", "turn", "reply", "unknown"]);

    await outbox({ inbox: null, purpose: "direct", provider_id: "out-1", settled_at: 1600 });
    expect(await trace.find("a", "out-1")).toMatchObject({
      message: { direction: "out", senderId: null, messageId: "out-1", state: "sent" },
      steps: [
        { step: "reply", purpose: "direct" },
        { step: "delivery", state: "sent", at: 1600 },
      ],
    });
  });

  it("prefers the gateway's own ids, then the latest of a provider's that repeat", async () => {
    const { trace, inbox } = await open();
    await inbox({ id: 5, event_id: "e5", chat_id: "1", message_id: "9" });
    await inbox({ id: 6, event_id: "e6", chat_id: "2", message_id: "9" });
    await inbox({ id: 9, event_id: "e9", chat_id: "3", message_id: "1" });
    expect((await trace.find("a", "9"))?.message.id).toBe(9);
    await inbox({ id: 10, event_id: "e10", chat_id: "4", message_id: "900" });
    await inbox({ id: 11, event_id: "e11", chat_id: "5", message_id: "900" });
    expect((await trace.find("a", "900"))?.message.id).toBe(11);
  });
});
