import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  compareIds,
  ownRole,
  parseInteraction,
  parseMessage,
} from "../../../../packages/gateway/src/channels/guildchat/parse.ts";
import {
  allBehind,
  caughtUp,
  readPosition,
  saw,
  setBot,
} from "../../../../packages/gateway/src/channels/guildchat/position.ts";
import { DM, GUILD, ROOM } from "./rig.ts";

const BOT = "900000000000000001";
const ROLE = "910000000000000001";
const me = { id: BOT, roles: { [GUILD]: ROLE } };
const ANN = { id: "500000000000000001", username: "ann", global_name: "Ann" };

const base = {
  id: "1200000000000000001",
  type: 0,
  channel_id: DM,
  author: ANN,
  content: "hello",
  timestamp: "2026-01-02T03:04:05.000000+00:00",
  attachments: [],
  mentions: [],
  mention_roles: [],
};
const inGuild = { ...base, channel_id: ROOM, guild_id: GUILD, member: { nick: "Annie", roles: [] } };
const read = (more: object) => parseMessage({ ...inGuild, ...more }, me);

describe("a message", () => {
  it("in a direct channel is for the bot [CH-GUILDCHAT-14]", () => {
    expect(parseMessage(base, me)).toEqual({
      eventId: base.id,
      messageId: base.id,
      chatId: DM,
      kind: "dm",
      senderId: ANN.id,
      senderName: "Ann",
      text: "hello",
      mentioned: true,
      sentAt: Date.UTC(2026, 0, 2, 3, 4, 5),
      reply: {},
      meta: {},
    });
  });

  it("in a guild's channel or thread belongs to the channel, and to the guild for access [CH-GUILDCHAT-14]", () => {
    expect(read({})).toMatchObject({
      chatId: ROOM,
      kind: "group",
      groupId: GUILD,
      senderName: "Annie",
      mentioned: false,
      reply: { guild: GUILD },
      meta: { guild_id: GUILD },
    });
    expect(read({ id: "m-1", channel_id: "room_1" })).toMatchObject({ eventId: "m-1", chatId: "room_1" });
    expect(read({ channel_id: "../users" })).toBeUndefined();
    const thread = "700000000000000033";
    expect(read({ channel_id: thread })).toMatchObject({ chatId: thread, groupId: GUILD });
  });

  it("is for the bot where it is mentioned, by name or role, or answered [CH-GUILDCHAT-15]", () => {
    const mention = read({ content: `<@${BOT}> what now?`, mentions: [{ id: BOT }] });
    expect(mention).toMatchObject({ mentioned: true, text: "what now?" });
    expect(read({ content: `hey <@!${BOT}>, you`, mentions: [{ id: BOT }] })).toMatchObject({
      text: "hey , you",
    });
    expect(read({ content: `<@${BOT}> unmarked`, mentions: undefined })?.mentioned).toBe(true);
    expect(read({ content: `in a code block: <@${BOT}>`, mentions: [] })?.mentioned).toBe(false);
    expect(read({ content: `<@&${ROLE}> go`, mention_roles: [ROLE] })).toMatchObject({
      mentioned: true,
      text: "go",
    });
    expect(read({ content: "<@&999> go", mention_roles: ["999"] })).toMatchObject({
      mentioned: false,
      text: "<@&999> go",
    });
    const answered = { id: "44", author: { id: BOT, bot: true }, content: "earlier" };
    expect(read({ type: 19, referenced_message: answered })).toMatchObject({
      mentioned: true,
      meta: { reply_to: "44", reply_to_text: "earlier" },
    });
    expect(read({ type: 19, referenced_message: { ...answered, author: ANN } })).toMatchObject({
      mentioned: false,
    });
    expect(read({ content: "@everyone", mention_everyone: true })).toMatchObject({ mentioned: false });
    expect(read({ content: `<@${BOT}>`, mentions: [{ id: BOT }] })).toMatchObject({ text: `<@${BOT}>` });
  });

  it("names the other people that it mentions [CH-GUILDCHAT-15]", () => {
    const mentions = [{ id: BOT }, { id: "7", username: "bo", global_name: "Bo" }];
    expect(read({ content: `<@${BOT}> ask <@7> or <@8>`, mentions })).toMatchObject({
      text: "ask @Bo or <@8>",
    });
  });

  it("of bots, webhooks, the bot itself and Discord is ignored [CH-GUILDCHAT-16]", () => {
    expect(read({ author: { ...ANN, bot: true } })).toBeUndefined();
    expect(read({ author: { ...ANN, id: BOT } })).toBeUndefined();
    expect(read({ webhook_id: "1" })).toBeUndefined();
    for (const type of [1, 6, 7, 8, 18, 20, 21, 24]) expect(read({ type })).toBeUndefined();
    expect(read({ content: " " })).toBeUndefined();
  });

  it("brings its files along [CH-GUILDCHAT-17]", () => {
    const file = (id: string, content_type: string | undefined, filename: string) => ({
      id,
      filename,
      size: 10,
      url: `https://cdn.discordapp.com/attachments/1/${id}/${filename}`,
      ...(content_type && { content_type }),
    });
    const attachments = [
      file("1", "image/png", "a.png"),
      file("2", "application/pdf", "../b.pdf"),
      file("3", "audio/mpeg", "c.mp3"),
      file("4", "video/mp4", "d.mp4"),
      file("5", "text/plain; charset=utf-8", "e.txt"),
      file("6", undefined, "f"),
      { id: "7" },
    ];
    const media = read({ content: "", attachments })!.media!;
    expect(media.map(({ kind, name, mime }) => [kind, name, mime])).toEqual([
      ["image", "a.png", "image/png"],
      ["document", "b.pdf", "application/pdf"],
      ["audio", "c.mp3", "audio/mpeg"],
      ["video", "d.mp4", "video/mp4"],
      ["document", "e.txt", "text/plain"],
      ["document", "f", undefined],
    ]);
    expect(media[0]).toMatchObject({
      size: 10,
      ref: {
        url: "https://cdn.discordapp.com/attachments/1/1/a.png",
        channel: ROOM,
        message: base.id,
        attachment: "1",
      },
    });
    const voice = read({ flags: 1 << 13, attachments: [file("8", "audio/ogg", "voice-message.ogg")] });
    expect(voice!.media).toMatchObject([{ kind: "voice" }]);
  });

  it("that is forwarded brings what it forwards [CH-GUILDCHAT-17]", () => {
    const message = { content: "the original", attachments: [] };
    expect(
      read({ content: "", message_reference: { type: 1 }, message_snapshots: [{ message }] }),
    ).toMatchObject({ text: "the original", meta: { forwarded: "true" } });
  });

  it("may be anything without doing harm [CH-GUILDCHAT-16]", () => {
    const keys = fc.constantFrom(
      ...Object.keys(inGuild),
      "webhook_id",
      "flags",
      "referenced_message",
      "data",
      "token",
    );
    fc.assert(
      fc.property(fc.dictionary(keys, fc.jsonValue()), (more) => {
        const message = parseMessage({ ...inGuild, ...more }, me);
        if (message) expect(message.eventId).toMatch(/^[\w-]{1,64}$/);
        parseInteraction({ ...inGuild, ...more });
        ownRole(more, BOT);
        readPosition(JSON.stringify(more));
      }),
    );
  });
});

describe("an interaction", () => {
  const event = { id: "1", token: "t", channel_id: DM, user: ANN };
  it("that is no command of ours is ignored [CH-GUILDCHAT-7]", () => {
    expect(parseInteraction({ ...event, type: 3, data: { custom_id: "other" } })).toBeUndefined();
    expect(parseInteraction({ ...event, type: 5, data: { custom_id: "/model" } })).toBeUndefined();
    expect(parseInteraction({ ...event, type: 2, data: {} })).toBeUndefined();
    expect(
      parseInteraction({ ...event, type: 2, data: { name: "clear" }, token: undefined }),
    ).toBeUndefined();
    expect(parseInteraction({ ...event, type: 2, data: { name: "clear" } })).toMatchObject({
      kind: "command",
      message: { text: "/clear", eventId: "1", senderName: "Ann" },
    });
  });
});

describe("the position", () => {
  const message = (n: number, mentioned = false) => ({
    chatId: String(1000 + n),
    messageId: String(5000 + n),
    guild: GUILD,
    mentioned,
  });

  it("survives being stored [CH-GUILDCHAT-5]", () => {
    const position = readPosition(undefined);
    setBot(position, { id: BOT, application: "9" });
    position.session = { id: "s", url: "wss://x.example", seq: 7 };
    saw(position, message(1, true));
    allBehind(position);
    expect(readPosition(JSON.stringify(position))).toEqual(position);
    expect(readPosition("nonsense")).toEqual({ roles: {}, channels: {}, behind: [] });
  });

  it("keeps the last fifty channels, first those where the bot was spoken to [CH-GUILDCHAT-4]", () => {
    const position = readPosition(undefined);
    saw(position, message(0, true));
    for (let n = 1; n <= 60; n++) saw(position, message(n));
    expect(Object.keys(position.channels)).toHaveLength(50);
    expect(position.channels["1000"]).toMatchObject({ last: "5000", mentioned: true });
    expect(position.channels["1001"]).toBeUndefined();
    expect(position.channels["1060"]).toBeDefined();
  });

  it("stands still in a channel that is behind [CH-GUILDCHAT-4]", () => {
    const position = readPosition(undefined);
    saw(position, message(1));
    allBehind(position);
    saw(position, { ...message(1), messageId: "6000" });
    expect(position.channels["1001"]).toMatchObject({ last: "5001" });
    caughtUp(position, "1001", "5500");
    saw(position, { ...message(1), messageId: "6000" });
    expect(position.channels["1001"]).toMatchObject({ last: "6000" });
    expect(compareIds("999", "1000")).toBeLessThan(0);
  });

  it("of another bot is of no use [CH-GUILDCHAT-5]", () => {
    const position = readPosition(undefined);
    setBot(position, { id: BOT, application: "9" });
    saw(position, message(1));
    setBot(position, { id: "901", application: "9" });
    expect(position.channels).toEqual({});
  });
});
