import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressed } from "../../../../packages/gateway/src/channels/botchat/mentions.ts";
import { parseUpdate } from "../../../../packages/gateway/src/channels/botchat/parse.ts";
import type { InboundMessage } from "../../../../packages/gateway/src/channels/types.ts";

const bot = { id: 777, username: "Helper_Bot" };
const ada = { id: 42, is_bot: false, first_name: "Ada", last_name: "Lovelace", username: "ada" };
const group = { id: -1001234567890, type: "supergroup", title: "Engines", is_forum: true };
const update = (fields: object) => ({
  update_id: 9001,
  message: { message_id: 7, date: 1_700_000_000, chat: { id: 42, type: "private" }, from: ada, ...fields },
});

function message(value: unknown, identity: { id: number; username?: string } = bot): InboundMessage {
  const parsed = parseUpdate(value, identity);
  if (parsed.kind !== "message") throw new Error(`it was ${parsed.kind}`);
  return parsed.message;
}

describe("a message to the bot", () => {
  it("comes with the update's id, its sender and its time [CH-BOTCHAT-1]", () => {
    expect(message(update({ text: "hello" }))).toEqual({
      eventId: "9001",
      chatId: "42",
      kind: "dm",
      senderId: "42",
      senderName: "Ada Lovelace",
      text: "hello",
      mentioned: true,
      messageId: "7",
      sentAt: 1_700_000_000_000,
      reply: {},
      meta: {},
    });
  });

  it("comes from a group under the group's negative id [CH-BOTCHAT-1]", () => {
    const got = message(update({ chat: group, text: "hello" }));
    expect(got).toMatchObject({
      chatId: "-1001234567890",
      groupId: "-1001234567890",
      kind: "group",
      senderId: "42",
      mentioned: false,
    });
    expect(got.meta).toMatchObject({ chat_title: "Engines" });
  });

  it("keeps the topic of a forum, but no thread of replies [CH-BOTCHAT-6]", () => {
    const topic = { chat: group, message_thread_id: 5, text: "in a topic" };
    expect(message(update({ ...topic, is_topic_message: true })).reply).toEqual({ thread: 5 });
    expect(message(update(topic)).reply).toEqual({});
  });

  it.each([
    ["a channel's post", { update_id: 1, channel_post: { message_id: 1 } }],
    ["an edit", { update_id: 1, edited_message: { message_id: 1 } }],
    ["a channel's chat", update({ chat: { id: -1, type: "channel" }, text: "x" })],
    ["a service message", update({ chat: group, new_chat_members: [ada] })],
    ["a pinned message", update({ pinned_message: { message_id: 1 } })],
    ["a sticker", update({ sticker: { file_id: "s" } })],
    ["another bot's message", update({ from: { ...ada, is_bot: true }, text: "x" })],
    ["a forward from the linked channel", update({ is_automatic_forward: true, text: "x" })],
    ["a message of nobody", update({ from: undefined, text: "x" })],
    ["an empty message", update({ text: " " })],
    ["nonsense", "x"],
    ["nothing", null],
    ["no id", { message: {} }],
    ["a broken chat", update({ chat: {}, text: "x" })],
  ])("is not %s [CH-BOTCHAT-5]", (_what, value) => {
    expect(parseUpdate(value, bot)).toEqual({ kind: "ignored" });
  });

  it("survives odd extras [CH-BOTCHAT-5]", () => {
    const odd = { text: "hi", entities: "x", photo: 5, reply_to_message: [], quote: 1, document: "x" };
    expect(message(update(odd)).text).toBe("hi");
  });

  it("tells of a group that became a supergroup [CH-BOTCHAT-14]", () => {
    const value = update({ chat: { id: -5, type: "group" }, migrate_to_chat_id: -1005 });
    expect(parseUpdate(value, bot)).toEqual({ kind: "moved", from: "-5", to: "-1005" });
  });
});

describe("files", () => {
  it("come as media, photos in their largest size, with the caption as text [CH-BOTCHAT-2]", () => {
    const photo = [
      { file_id: "small", width: 90, height: 60, file_size: 900 },
      { file_id: "large", width: 900, height: 600, file_size: 90_000 },
    ];
    expect(message(update({ photo, caption: "look" }))).toMatchObject({
      text: "look",
      media: [{ kind: "image", ref: { fileId: "large" }, mime: "image/jpeg", size: 90_000 }],
    });
    const unsized = photo.map(({ file_size: _, ...rest }) => rest);
    expect(message(update({ photo: unsized })).media).toMatchObject([{ ref: { fileId: "large" } }]);
  });

  it.each([
    ["document", "document", { file_name: "a.pdf", mime_type: "application/pdf" }],
    ["voice", "voice", { mime_type: "audio/ogg" }],
    ["audio", "audio", { file_name: "a.mp3", mime_type: "audio/mpeg" }],
    ["video", "video", { file_name: "a.mp4", mime_type: "video/mp4" }],
    ["video_note", "video", {}],
    ["animation", "document", { file_name: "a.gif.mp4" }],
  ])("%s is kept as %s [CH-BOTCHAT-2]", (field, kind, extra) => {
    const [media] = message(update({ [field]: { file_id: "f", ...extra } })).media ?? [];
    expect(media).toEqual({
      kind,
      ref: { fileId: "f" },
      ...("file_name" in extra && { name: extra.file_name }),
      ...("mime_type" in extra && { mime: extra.mime_type }),
    });
  });

  it("counts an animation once [CH-BOTCHAT-2]", () => {
    const file = { file_id: "f" };
    expect(message(update({ animation: file, document: file })).media).toHaveLength(1);
  });
});

describe("mentions", () => {
  const inGroup = (text: string, entities: object[], extra: object = {}) =>
    update({ chat: group, text, entities, ...extra });
  const mention = (text: string, what: string, type = "mention") => ({
    type,
    offset: text.indexOf(what),
    length: what.length,
  });

  it.each([
    ["@helper_bot, do it", "do it"],
    ["do @HELPER_BOT it", "do it"],
    ["do it @Helper_Bot", "do it"],
    ["🙂🙂 @Helper_Bot do it", "🙂🙂 do it"],
    ["@Helper_Bot", "@Helper_Bot"],
    ["@Helper_Bot /session", "/session"],
  ])("of the bot are seen and cut: %s [CH-BOTCHAT-3]", (text, rest) => {
    const found = /@helper_bot/i.exec(text)![0];
    expect(message(inGroup(text, [mention(text, found)]))).toMatchObject({ mentioned: true, text: rest });
  });

  it.each([
    ["@helper_bot, do it", true, "do it"],
    ["do it @Helper_Bot", true, "do it"],
    ["/session@helper_bot", true, "/session"],
    [
      "mail helper@helper_bot.com or ask @helper_bot2",
      false,
      "mail helper@helper_bot.com or ask @helper_bot2",
    ],
  ])("are seen by their words where the server marks none: %s [CH-BOTCHAT-24]", (text, mentioned, rest) => {
    expect(message(update({ chat: group, text }))).toMatchObject({ mentioned, text: rest });
  });

  it("are not all that a server may leave out [CH-BOTCHAT-24]", () => {
    expect(parseUpdate(update({ chat: group, text: "/session@other_bot" }), bot).kind).toBe("ignored");
    const bare = { update_id: 1, message: { message_id: 2, chat: { id: -7 }, from: { id: 5 }, text: "hi" } };
    expect(message(bare)).toMatchObject({ kind: "group", chatId: "-7", senderId: "5", text: "hi" });
    expect(message({ ...bare, message: { ...bare.message, chat: { id: 5 } } }).kind).toBe("dm");
    expect(message(bare)).not.toHaveProperty("sentAt");
  });

  it("of others are not the bot's [CH-BOTCHAT-3]", () => {
    const text = "@helper_bot2 do it";
    expect(message(inGroup(text, [mention(text, "@helper_bot2")]))).toMatchObject({ mentioned: false, text });
  });

  it("may be by id, and in captions [CH-BOTCHAT-3]", () => {
    const caption = "Helper look";
    const entity = { type: "text_mention", offset: 0, length: 6, user: { id: 777, is_bot: true } };
    const value = update({
      chat: group,
      caption,
      caption_entities: [entity],
      photo: [{ file_id: "p" }],
    });
    expect(message(value)).toMatchObject({ mentioned: true, text: "look" });
  });

  it("are replies to the bot too, but not what opens a topic [CH-BOTCHAT-3]", () => {
    const own = { message_id: 3, from: { id: 777, is_bot: true }, text: "what the bot said" };
    const reply = message(inGroup("and then?", [], { reply_to_message: own }));
    expect(reply).toMatchObject({
      mentioned: true,
      meta: { reply_to: "3", reply_to_text: "what the bot said" },
    });
    const topic = { message_thread_id: 3, is_topic_message: true, reply_to_message: own };
    expect(message(inGroup("hi", [], topic)).mentioned).toBe(false);
    const opened = { reply_to_message: { ...own, message_id: 4, forum_topic_created: {} } };
    expect(message(inGroup("hi", [], opened)).mentioned).toBe(false);
    const other = { reply_to_message: { message_id: 3, from: ada } };
    expect(message(inGroup("hi", [], other)).mentioned).toBe(false);
  });

  it("in commands: of this bot they are cut, another bot's commands are ignored [CH-BOTCHAT-4]", () => {
    const own = "/session@helper_bot now";
    expect(message(inGroup(own, [mention(own, "/session@helper_bot", "bot_command")]))).toMatchObject({
      mentioned: true,
      text: "/session now",
    });
    const other = "/session@other_bot";
    expect(parseUpdate(inGroup(other, [mention(other, other, "bot_command")]), bot)).toEqual({
      kind: "ignored",
    });
    const plain = "/session";
    expect(message(inGroup(plain, [mention(plain, plain, "bot_command")]))).toMatchObject({
      mentioned: false,
      text: "/session",
    });
  });

  it("cannot be told before the bot's name is known [CH-BOTCHAT-3]", () => {
    const text = "@helper_bot hi";
    const value = inGroup(text, [mention(text, "@helper_bot")]);
    expect(parseUpdate(value, { id: 777 })).toEqual({ kind: "unready" });
    expect(message(inGroup("hi", []), { id: 777 }).mentioned).toBe(false);
    expect(message(update({ text, entities: [mention(text, "@helper_bot")] }), { id: 777 }).text).toBe(text);
  });

  it("are found at any UTF-16 offset, and everything else stays [CH-BOTCHAT-3]", () => {
    const words = fc.array(fc.constantFrom("a", "🙂", "👩‍👩‍👧", "ß", "漢字", "\u0301x", "@other", "z\n"), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(words, words, (before, after) => {
        const head = before.map((word) => `${word} `).join("");
        const tail = after.map((word) => ` ${word}`).join("");
        const text = `${head}@Helper_Bot${tail}`;
        const entity = { type: "mention", offset: head.length, length: 11 };
        const got = addressed(text, [entity], bot);
        expect(got.mentioned).toBe(true);
        expect(got.text).not.toMatch(/helper_bot/i);
        const squeeze = (value: string) => value.replace(/\s+/g, "");
        expect(squeeze(got.text)).toBe(squeeze(head + tail));
        expect(got.text.isWellFormed()).toBe(true);
      }),
    );
  });

  it("never make reading throw, wherever the entities point [CH-BOTCHAT-5]", () => {
    const entity = fc.record({
      type: fc.constantFrom("mention", "bot_command", "text_mention", "bold"),
      offset: fc.nat(60),
      length: fc.nat(60),
      user: fc.option(fc.constant({ id: 777 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.array(entity),
        fc.jsonValue(),
        (text, entities, extra) => {
          parseUpdate(update({ chat: group, text, entities, reply_to_message: extra }), bot);
          parseUpdate(extra, bot);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("pressed buttons", () => {
  const press = (fields: object) => ({
    update_id: 9002,
    callback_query: {
      id: "q1",
      from: ada,
      chat_instance: "1",
      data: "/model opus",
      message: { message_id: 11, date: 0, chat: group, message_thread_id: 5, is_topic_message: true },
      ...fields,
    },
  });

  it("are messages with their command [CH-BOTCHAT-7]", () => {
    expect(message(press({}))).toEqual({
      eventId: "9002",
      chatId: "-1001234567890",
      groupId: "-1001234567890",
      kind: "group",
      senderId: "42",
      senderName: "Ada Lovelace",
      text: "/model opus",
      mentioned: true,
      reply: { thread: 5, callback: "q1" },
    });
  });

  it.each([
    ["no command", { data: "yes" }],
    ["no data", { data: undefined }],
    ["no message", { message: undefined }],
    ["a bot", { from: { ...ada, is_bot: true } }],
  ])("with %s are ignored [CH-BOTCHAT-7]", (_what, fields) => {
    expect(parseUpdate(press(fields), bot)).toEqual({ kind: "ignored" });
  });
});
