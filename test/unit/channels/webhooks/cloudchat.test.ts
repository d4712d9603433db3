import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { webhook } from "../../../../packages/gateway/src/channels/cloudchat/webhook.ts";
import { cloudDelivery, cloudText } from "../../../fixtures/fake-cloudchat.ts";
import { SIGNED_CHANNELS, signedHeaders } from "../../../fixtures/webhook-signing.ts";
import { agentWith, messagesOf, request } from "./agents.ts";

const NOW = 1_800_000_000_000;
const agent = agentWith();
const NUMBER = SIGNED_CHANNELS.cloudchat.phoneNumberId;
const deliver = (payload: unknown) => {
  const body = JSON.stringify(payload);
  return webhook.handle(request(body, signedHeaders("cloudchat", body)), agent, NOW);
};
const parse = (...messages: object[]) => messagesOf(deliver(cloudDelivery(NUMBER, messages)));
const message = (fields: object) => ({
  from: "491701234567",
  id: "wamid.1",
  timestamp: "1700000000",
  ...fields,
});

describe("the handshake of cloudchat", () => {
  const ask = (query: string, entry = agent) =>
    webhook.handle(request("", {}, { method: "GET", query: new URLSearchParams(query) }), entry, NOW);
  const right = "hub.mode=subscribe&hub.verify_token=the-verify-token&hub.challenge=1158201444";

  it("answers the challenge as text when mode and token are right [CH-CLOUD-1]", () => {
    expect(ask(right)).toEqual({ status: 200, text: "1158201444" });
  });

  it.each([
    ["another token", "hub.mode=subscribe&hub.verify_token=wrong&hub.challenge=1"],
    ["no token", "hub.mode=subscribe&hub.challenge=1"],
    ["another mode", "hub.mode=unsubscribe&hub.verify_token=the-verify-token&hub.challenge=1"],
    ["no challenge", "hub.mode=subscribe&hub.verify_token=the-verify-token"],
    ["two tokens", `${right}&hub.verify_token=the-verify-token`],
    ["nothing", ""],
  ])("is refused with %s [CH-CLOUD-1]", (_, query) => {
    expect(ask(query)).toMatchObject({ status: 403 });
  });

  it("is refused where no verify token is configured [CH-CLOUD-1]", () => {
    const bare = agentWith({ cloudchat: { ...SIGNED_CHANNELS.cloudchat, verifyToken: undefined } });
    expect(ask("hub.mode=subscribe&hub.verify_token=&hub.challenge=1", bare)).toMatchObject({ status: 403 });
  });
});

describe("a delivery of cloudchat", () => {
  it("that is signed and no JSON is 400, after the signature [CH-CLOUD-2]", () => {
    expect(webhook.handle(request("{", signedHeaders("cloudchat", "{")), agent, NOW)).toMatchObject({
      status: 400,
    });
    expect(webhook.handle(request("{"), agent, NOW)).toMatchObject({ status: 401 });
  });

  it("brings a text with its sender's number and name [CH-CLOUD-3]", () => {
    expect(parse(cloudText("hello", { id: "wamid.7" }))).toEqual([
      {
        eventId: "wamid.7",
        chatId: "491701234567",
        kind: "dm",
        senderId: "491701234567",
        senderName: "Ada",
        text: "hello",
        mentioned: true,
        messageId: "wamid.7",
        sentAt: 1_700_000_000_000,
      },
    ]);
  });

  it("brings files with their caption, name and type [CH-CLOUD-3]", () => {
    const media = (fields: object) => parse(message(fields))[0];
    expect(
      media({ type: "image", image: { id: "m1", mime_type: "image/jpeg", caption: "look" } }),
    ).toMatchObject({
      text: "look",
      media: [{ kind: "image", ref: { id: "m1" }, mime: "image/jpeg" }],
    });
    expect(
      media({
        type: "document",
        document: { id: "m2", mime_type: "application/pdf", filename: "../../a\u202eb.pdf" },
      }),
    ).toMatchObject({ text: "", media: [{ kind: "document", ref: { id: "m2" }, name: "a b.pdf" }] });
    expect(media({ type: "audio", audio: { id: "m3", voice: true } })?.media?.[0]?.kind).toBe("voice");
    expect(media({ type: "audio", audio: { id: "m4" } })?.media?.[0]?.kind).toBe("audio");
    expect(media({ type: "video", video: { id: "m5" } })?.media?.[0]?.kind).toBe("video");
  });

  it("brings pressed buttons as their command or their words [CH-CLOUD-4]", () => {
    const reply = (interactive: object) => parse(message({ type: "interactive", interactive }))[0]?.text;
    expect(reply({ type: "list_reply", list_reply: { id: "/model large", title: "Large" } })).toBe(
      "/model large",
    );
    expect(reply({ type: "button_reply", button_reply: { id: "b1", title: "Yes" } })).toBe("Yes");
    expect(parse(message({ type: "button", button: { payload: "/clear", text: "Clear" } }))[0]?.text).toBe(
      "/clear",
    );
    expect(parse(message({ type: "button", button: { payload: "P", text: "Fine" } }))[0]?.text).toBe("Fine");
  });

  it("tells which message is answered [CH-CLOUD-4]", () => {
    const [got] = parse({ ...cloudText("yes"), context: { from: "1", id: "wamid.0" } });
    expect(got).toMatchObject({ reply: { quoted: "wamid.0" }, meta: { reply_to: "wamid.0" } });
  });

  it.each([
    ["a reaction", { type: "reaction", reaction: { message_id: "wamid.0", emoji: "👍" } }],
    ["a sticker", { type: "sticker", sticker: { id: "s" } }],
    ["a place", { type: "location", location: { latitude: 1, longitude: 2 } }],
    ["what it does not know", { type: "unsupported", errors: [{ code: 131051 }] }],
    ["a group", { type: "text", text: { body: "x" }, group_id: "G1" }],
    ["an empty text", { type: "text", text: { body: "" } }],
    ["no number", { type: "text", text: { body: "x" }, from: "x@s.whatsapp.net" }],
    ["a name of an object's own", { type: "constructor", constructor: { id: "x" } }],
  ])("ignores %s [CH-CLOUD-3]", (_, fields) => {
    expect(parse(message(fields))).toEqual([]);
  });

  it("takes all entries, changes and messages, of its own number alone [CH-CLOUD-5]", () => {
    const change = (number: string | undefined, ...ids: string[]) => ({
      field: "messages",
      value: {
        ...(number !== undefined && { metadata: { phone_number_id: number } }),
        contacts: [{ wa_id: "491701234567", profile: { name: "Ada" } }],
        messages: ids.map((id) => message({ id, type: "text", text: { body: id } })),
      },
    });
    const ids = messagesOf(
      deliver({
        entry: [
          { changes: [change(NUMBER, "a", "b"), change("999", "foreign")] },
          { changes: [change(undefined, "c")] },
        ],
      }),
    ).map(({ eventId }) => eventId);
    expect(ids).toEqual(["a", "b", "c"]);
  });

  it("brings what became of sent messages [CH-CLOUD-6, CH-CLOUD-18]", () => {
    const statuses = [
      { id: "wamid.1", status: "delivered", biz_opaque_callback_data: "k1" },
      {
        id: "wamid.2",
        status: "failed",
        errors: [
          { code: 131047, title: "Re-engagement message", error_data: { details: "More than 24 hours" } },
        ],
      },
      { id: "wamid.3", status: "warped" },
    ];
    const verdict = deliver({
      entry: [{ changes: [{ value: { metadata: { phone_number_id: NUMBER }, statuses } }] }],
    });
    expect(verdict).toMatchObject({
      messages: [],
      receipts: [
        { messageId: "wamid.1", key: "k1", state: "delivered" },
        { messageId: "wamid.2", state: "failed", reason: "More than 24 hours" },
      ],
    });
  });

  it("of any shape is answered with 200 when it is signed [CH-HOOK-9]", () => {
    fc.assert(
      fc.property(fc.json(), (body) => {
        expect(webhook.handle(request(body, signedHeaders("cloudchat", body)), agent, NOW).status).toBe(200);
      }),
    );
    const shape = fc.record({
      entry: fc.array(fc.record({ changes: fc.array(fc.record({ value: fc.object() })) })),
    });
    fc.assert(fc.property(shape, (payload) => void expect(deliver(payload).status).toBe(200)));
  });
});
