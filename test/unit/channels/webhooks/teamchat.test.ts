import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readable } from "../../../../packages/gateway/src/channels/teamchat/text.ts";
import { webhook } from "../../../../packages/gateway/src/channels/teamchat/webhook.ts";
import { SIGNED_CHANNELS, signedHeaders } from "../../../fixtures/webhook-signing.ts";
import { agentWith, messagesOf, request } from "./agents.ts";

const NOW = 1_800_000_000_000;
const agent = agentWith();
const loud = agentWith({ teamchat: { ...SIGNED_CHANNELS.teamchat, requireMention: false } });
const deliver = (body: string, entry = agent, more: Record<string, string> = {}) =>
  webhook.handle(request(body, { ...signedHeaders("teamchat", body, { now: NOW }), ...more }), entry, NOW);
const callback = (event: object, fields: object = {}) => ({
  type: "event_callback",
  event_id: "Ev1",
  authorizations: [{ user_id: "UBOT", is_bot: true }],
  event: {
    type: "message",
    channel: "D1",
    channel_type: "im",
    user: "U1",
    text: "hello",
    ts: "1700000000.000100",
    ...event,
  },
  ...fields,
});
const parse = (event: object, entry = agent, fields: object = {}) =>
  messagesOf(deliver(JSON.stringify(callback(event, fields)), entry));
const inChannel = (event: object) => ({ channel: "C1", channel_type: "channel", ...event });
const form = (fields: Record<string, string>) =>
  deliver(new URLSearchParams(fields).toString(), agent, {
    "content-type": "application/x-www-form-urlencoded",
  });

describe("a request to teamchat", () => {
  it("that verifies the address gets its challenge, after the signature [CH-TEAMIN-1]", () => {
    const body = JSON.stringify({ type: "url_verification", challenge: "3eZbrw1aB" });
    expect(deliver(body)).toEqual({ status: 200, json: { challenge: "3eZbrw1aB" } });
    expect(webhook.handle(request(body), agent, NOW)).toMatchObject({ status: 401 });
  });

  it("that is signed and no JSON is 400, unsigned 401 [CH-TEAMIN-2]", () => {
    for (const body of ["{", "", "hello", "\xff"]) {
      expect(deliver(body)).toMatchObject({ status: 400 });
      expect(webhook.handle(request(body), agent, NOW)).toMatchObject({ status: 401 });
    }
    expect(form({ payload: "{" })).toMatchObject({ status: 400 });
  });
});

describe("an event of teamchat", () => {
  it("brings a direct message [CH-TEAMIN-3]", () => {
    expect(parse({})).toEqual([
      {
        eventId: "Ev1",
        chatId: "D1",
        kind: "dm",
        senderId: "U1",
        text: "hello",
        mentioned: true,
        messageId: "1700000000.000100",
        messageKey: expect.any(String),
        sentAt: 1_700_000_000_000,
      },
    ]);
    expect(parse({ channel_type: undefined })).toMatchObject([{ kind: "dm" }]);
  });

  it("brings a mention without the bot's name, to be answered in a thread [CH-TEAMIN-4]", () => {
    expect(parse(inChannel({ type: "app_mention", text: "<@UBOT> what is up?" }))).toMatchObject([
      {
        chatId: "C1",
        groupId: "C1",
        kind: "group",
        text: "what is up?",
        mentioned: true,
        reply: { thread_ts: "1700000000.000100" },
      },
    ]);
    const bare = parse(inChannel({ type: "app_mention", text: "<@UX> hi" }), agent, {
      authorizations: undefined,
    });
    expect(bare).toMatchObject([{ text: "hi" }]);
  });

  it("stays in the thread that it came from [CH-TEAMIN-5]", () => {
    expect(parse({ thread_ts: "1.1" })[0]?.reply).toEqual({ thread_ts: "1.1" });
    expect(parse(inChannel({ type: "app_mention", thread_ts: "1.1" }))[0]?.reply).toEqual({
      thread_ts: "1.1",
    });
    expect(parse({})[0]?.reply).toBeUndefined();
  });

  it("brings what is said in channels only where no mention is required [CH-TEAMIN-6]", () => {
    expect(parse(inChannel({}))).toEqual([]);
    expect(parse(inChannel({}), loud)).toMatchObject([{ text: "hello", mentioned: false }]);
    expect(parse(inChannel({ text: "hi <@UBOT>" }), loud)).toMatchObject([{ text: "hi", mentioned: true }]);
  });

  it("has the same message key in all events of one message, and another one for what was said in the same moment [CH-TEAMIN-7]", () => {
    const said = inChannel({ text: "<@UBOT> hi" });
    const [mention] = parse({ ...said, type: "app_mention" });
    const [message] = parse(said, loud, { event_id: "Ev2" });
    expect([message?.chatId, message?.messageKey]).toEqual([mention?.chatId, mention?.messageKey]);
    const other = parse({ ...said, text: "<@UBOT> ho" }, loud, { event_id: "Ev3" })[0];
    expect(other?.messageKey).not.toBe(message?.messageKey);
    const unnamed = parse({ ...said, type: "app_mention" }, agent, { event_id: undefined })[0];
    expect(unnamed?.eventId).toBe(message?.messageKey);
  });

  it("has fields that say nothing where it has them at all [CH-TEAMIN-3]", () => {
    expect(parse({ bot_id: null, subtype: null, thread_ts: null, files: null })).toHaveLength(1);
    expect(parse({ channel_type: "app_home" })).toMatchObject([{ kind: "dm" }]);
  });

  it.each([
    ["a bot's message", { subtype: "bot_message", bot_id: "B1" }],
    ["a message with a bot's id", { bot_id: "B1" }],
    ["its own", { user: "UBOT" }],
    ["an edit", { subtype: "message_changed" }],
    ["a deletion", { subtype: "message_deleted" }],
    ["a join", { subtype: "channel_join" }],
    ["nobody's", { user: undefined }],
    ["another kind", { type: "reaction_added" }],
    ["nothing said", { text: "" }],
  ])("is ignored when it is %s [CH-TEAMIN-8]", (_, fields) => {
    expect(parse(fields)).toEqual([]);
    expect(parse(fields, loud)).toEqual([]);
  });

  it("of a user for whom the app acts too is taken [CH-TEAMIN-8]", () => {
    const authorizations = [{ user_id: "U1", is_bot: false }];
    expect(parse({}, agent, { authorizations })).toHaveLength(1);
  });

  it("brings files [CH-TEAMIN-9]", () => {
    const files = [
      {
        id: "F1",
        name: "a.png",
        mimetype: "image/png",
        size: 12,
        url_private: "https://files.slack.com/a.png",
      },
      {
        id: "F2",
        name: "b.pdf",
        mimetype: "application/pdf",
        url_private: "https://x/b",
        url_private_download: "https://x/d",
      },
      { id: "F3", file_access: "check_file_info" },
      { mode: "tombstone" },
    ];
    expect(parse({ subtype: "file_share", text: "", files })).toMatchObject([
      {
        text: "",
        media: [
          {
            kind: "image",
            ref: { id: "F1", url: "https://files.slack.com/a.png" },
            name: "a.png",
            mime: "image/png",
            size: 12,
          },
          { kind: "document", ref: { id: "F2", url: "https://x/d" } },
          { kind: "document", ref: { id: "F3" } },
        ],
      },
    ]);
  });
});

describe("the text of a message of teamchat", () => {
  it.each([
    ["a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"],
    ["<@U1> and <@U2|bob>", "@U1 and @bob"],
    ["see <#C1|general> or <#C2>", "see #general or #C2"],
    ["<!here> <!channel> <!subteam^S1|@team> <!subteam^S2>", "@here @channel @team @S2"],
    ["<https://example.com|the site>", "the site (https://example.com)"],
    ["<http://example.com|example.com> <https://x.org>", "example.com https://x.org"],
    ["<mailto:a@b.c|a@b.c>", "a@b.c"],
    ["<!date^1^{date}|yesterday>", "yesterday"],
    ["a < b > c", "a < b > c"],
    ["&lt;@U1&gt;", "<@U1>"],
    ["<@UBOT>: do <@UBOT> it", "do it"],
    ["line\n<@UBOT> next", "line\n next"],
  ])("%j reads %j [CH-TEAMIN-10]", (raw, shown) => {
    expect(readable(raw, ["UBOT"])).toBe(shown);
  });
});

describe("a form of teamchat", () => {
  const action = (fields: object) =>
    form({
      payload: JSON.stringify({
        type: "block_actions",
        trigger_id: "t1",
        user: { id: "U1", name: "ada" },
        channel: { id: "C1" },
        container: { message_ts: "5.5", thread_ts: "1.1" },
        actions: [{ type: "button", value: "/model large" }],
        ...fields,
      }),
    });

  it("carries the slash command of a pressed button or a chosen option [CH-TEAMIN-11]", () => {
    expect(messagesOf(action({}))).toEqual([
      {
        eventId: "action:t1",
        chatId: "C1",
        groupId: "C1",
        kind: "group",
        senderId: "U1",
        senderName: "ada",
        text: "/model large",
        mentioned: true,
        reply: { thread_ts: "1.1" },
      },
    ]);
    expect(messagesOf(action({ actions: [{ selected_option: { value: "/clear" } }] }))[0]?.text).toBe(
      "/clear",
    );
    expect(messagesOf(action({ actions: [{ value: "buy" }] }))).toEqual([]);
    expect(action({})).toMatchObject({ json: { ok: true } });
  });

  it("carries a registered slash command, answered with nothing [CH-TEAMIN-11]", () => {
    const verdict = form({
      command: "/model",
      text: "large",
      channel_id: "D1",
      user_id: "U1",
      trigger_id: "t2",
    });
    expect(verdict).toMatchObject({ status: 200, text: "" });
    expect(messagesOf(verdict)).toMatchObject([
      { eventId: "command:t2", kind: "dm", chatId: "D1", text: "/model large" },
    ]);
  });

  it("needs the same signature [CH-TEAMIN-11]", () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect(webhook.handle(request("payload={}", headers), agent, NOW)).toMatchObject({ status: 401 });
  });

  it("of any shape is answered with 200 when it is signed [CH-HOOK-9]", () => {
    fc.assert(
      fc.property(fc.object(), fc.object(), (payload, event) => {
        expect(form({ payload: JSON.stringify(payload) }).status).toBe(200);
        expect(form(Object.fromEntries(Object.keys(payload).map((key) => [key, "x"]))).status).toBe(200);
        expect(deliver(JSON.stringify(payload)).status).toBe(200);
        expect(deliver(JSON.stringify(callback(event))).status).toBe(200);
        expect(deliver(JSON.stringify({ type: "event_callback", event })).status).toBe(200);
      }),
    );
  });
});
