import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { webhook } from "../../../../packages/gateway/src/channels/sigchat/webhook.ts";
import { signedHeaders } from "../../../fixtures/webhook-signing.ts";
import { agentWith, messagesOf, request } from "./agents.ts";

const agent = agentWith();
const deliver = (body: string) => webhook.handle(request(body, signedHeaders("sigchat", body)), agent, 0);
const parse = (...events: unknown[]) => messagesOf(deliver(JSON.stringify({ destination: "Ubot", events })));
const event = (message: object | undefined, fields: object = {}) => ({
  type: "message",
  mode: "active",
  webhookEventId: "01H",
  timestamp: 1_700_000_000_123,
  replyToken: "token-1",
  source: { type: "user", userId: "U1" },
  ...(message && { message }),
  ...fields,
});
const text = { id: "444", type: "text", text: "hello" };

describe("a request to sigchat", () => {
  it("that is a GET or empty is answered without proof [CH-SIGIN-1]", () => {
    const ok = { status: 200, json: { ok: true } };
    expect(webhook.greet?.(request("", {}, { method: "GET" }))).toEqual(ok);
    expect(webhook.greet?.(request(""))).toEqual(ok);
    expect(webhook.greet?.(request("{}"))).toBeUndefined();
  });
});

describe("an event of sigchat", () => {
  it("brings a text with what an answer needs [CH-SIGIN-2]", () => {
    expect(parse(event(text))).toEqual([
      {
        eventId: "01H",
        chatId: "U1",
        kind: "dm",
        senderId: "U1",
        text: "hello",
        mentioned: true,
        messageId: "444",
        sentAt: 1_700_000_000_123,
        reply: { replyToken: "token-1", timestamp: 1_700_000_000_123 },
      },
    ]);
  });

  it.each(["group", "room"] as const)("comes from a %s under its id [CH-SIGIN-3]", (kind) => {
    const source = { type: kind, [`${kind}Id`]: "C9", userId: "U1" };
    expect(parse(event(text, { source }))).toMatchObject([
      { chatId: "C9", groupId: "C9", kind, senderId: "U1", mentioned: true },
    ]);
    expect(parse(event(text, { source: { ...source, userId: undefined } }))).toMatchObject([
      { senderId: "C9" },
    ]);
  });

  it("brings images and files by the message's id, with a harmless name [CH-SIGIN-2]", () => {
    expect(parse(event({ id: "5", type: "image", contentProvider: { type: "line" } }))).toMatchObject([
      { text: "", media: [{ kind: "image", ref: { messageId: "5" } }] },
    ]);
    expect(
      parse(event({ id: "6", type: "file", fileName: "..\\..\\a\nb.pdf", fileSize: 2138 })),
    ).toMatchObject([
      { media: [{ kind: "document", ref: { messageId: "6" }, name: "a b.pdf", size: 2138 }] },
    ]);
  });

  it.each(["sticker", "video", "location", "audio"])("ignores a %s [CH-SIGIN-4]", (type) => {
    expect(parse(event({ id: "5", type, text: "x" }))).toEqual([]);
  });

  it("ignores what is no message, or for another module [CH-SIGIN-4]", () => {
    expect(
      parse(event(undefined, { type: "follow" }), event(text, { mode: "standby" }), null, 7, "x", []),
    ).toEqual([]);
    expect(parse(event(text, { source: { type: "user" } }))).toEqual([]);
  });

  it("keeps its id when it is brought again, and has one when the provider gave none [CH-SIGIN-5]", () => {
    const again = event(text, { deliveryContext: { isRedelivery: true } });
    expect(parse(again)[0]?.eventId).toBe("01H");
    const unnamed = (more: object) => parse(event(text, { webhookEventId: undefined, ...more }))[0]?.eventId;
    expect(unnamed({ deliveryContext: { isRedelivery: true } })).toBe(unnamed({}));
    expect(unnamed({ message: { ...text, text: "another text under the same id" } })).not.toBe(unnamed({}));
    const bare = {
      type: "message",
      source: { type: "user", userId: "U1" },
      message: { type: "text", text: "a" },
    };
    expect(parse(bare)[0]?.eventId).toBe(parse(bare)[0]?.eventId);
    expect(parse(bare)[0]?.eventId).not.toBe(parse({ ...bare, timestamp: 2 })[0]?.eventId);
  });

  it("carries the slash command of a pressed button [CH-SIGIN-2]", () => {
    const postback = (data: string) => parse(event(undefined, { type: "postback", postback: { data } }));
    expect(postback("/model large")).toMatchObject([{ text: "/model large" }]);
    expect(postback("action=buy")).toEqual([]);
  });

  it("of any shape is answered with 200 when it is signed [CH-HOOK-9]", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (body) => void expect(deliver(body).status).toBe(200)),
    );
    fc.assert(
      fc.property(
        fc.array(fc.object()),
        (events) => void expect(deliver(JSON.stringify({ events })).status).toBe(200),
      ),
    );
  });
});
