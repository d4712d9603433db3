import type { proto, WAMessage } from "baileys";
import { expect, test } from "vitest";
import { parseMessage } from "../../../../packages/gateway/src/channels/devicechat/parse.ts";

const SELF = ["15550009999:3@s.whatsapp.net", "90009:3@lid"];
const ALICE = "15550001111@s.whatsapp.net";
const GROUP = "120363000000000001@g.us";

const message = (content: proto.IMessage | null, key: Partial<WAMessage["key"]> = {}): WAMessage => ({
  key: { remoteJid: ALICE, id: "M1", ...key },
  message: content,
  messageTimestamp: 1_700_000_000,
  pushName: "Alice",
});
const parse = (content: proto.IMessage | null, key?: Partial<WAMessage["key"]>) =>
  parseMessage(message(content, key), SELF);
const inGroup = { remoteJid: GROUP, participant: "15550001111:7@s.whatsapp.net" };

test("a text", () => {
  expect(parse({ conversation: "hello" }, { remoteJid: "15550001111:7@s.whatsapp.net" })).toEqual({
    eventId: `${ALICE}/M1`,
    chatId: ALICE,
    kind: "dm",
    senderId: ALICE,
    senderName: "Alice",
    text: "hello",
    mentioned: true,
    messageId: "M1",
    sentAt: 1_700_000_000_000,
    reply: {},
  });
});

test("files with their captions, names and sizes, in whatever they are wrapped", () => {
  const file = {
    url: "https://mmg.whatsapp.net/v/x",
    directPath: "/v/x",
    mediaKey: Buffer.alloc(32, 7),
    mimetype: "image/jpeg",
    fileLength: { toString: () => "1234" } as never,
  };
  const ref = { url: file.url, directPath: file.directPath, mediaKey: file.mediaKey.toString("base64") };
  const media = (kind: string, more = {}) => [{ kind, ref, mime: "image/jpeg", size: 1234, ...more }];
  expect(parse({ imageMessage: { ...file, caption: "look" } })).toMatchObject({
    text: "look",
    media: media("image"),
  });
  expect(
    parse({ ephemeralMessage: { message: { viewOnceMessageV2: { message: { imageMessage: file } } } } }),
  ).toMatchObject({ text: "", media: media("image") });
  const document = { ...file, fileName: "a.pdf", caption: "read" };
  expect(parse({ documentWithCaptionMessage: { message: { documentMessage: document } } })).toMatchObject({
    text: "read",
    media: media("document", { name: "a.pdf" }),
  });
  expect(parse({ audioMessage: { ...file, ptt: true } })).toMatchObject({ text: "", media: media("voice") });
  expect(parse({ audioMessage: file })).toMatchObject({ media: media("audio") });
  expect(parse({ videoMessage: { ...file, caption: "see" } })).toMatchObject({
    text: "see",
    media: media("video"),
  });
});

test.each<[string, proto.IMessage | null, Partial<WAMessage["key"]>]>([
  ["own messages", { conversation: "x" }, { fromMe: true }],
  [
    "own messages of other devices in a group",
    { conversation: "x" },
    { remoteJid: GROUP, participant: SELF[1]! },
  ],
  ["status updates", { conversation: "x" }, { remoteJid: "status@broadcast", participant: ALICE }],
  ["broadcasts", { conversation: "x" }, { remoteJid: "123@broadcast", participant: ALICE }],
  ["newsletters", { conversation: "x" }, { remoteJid: "123@newsletter" }],
  ["reactions", { reactionMessage: { text: "👍" } }, {}],
  ["edits and deletions", { protocolMessage: { type: 14 } }, {}],
  ["empty ones", null, {}],
  ["stickers", { stickerMessage: {} }, {}],
  ["group messages of nobody", { conversation: "x" }, { remoteJid: GROUP }],
  ["ones without an id", { conversation: "x" }, { id: null }],
])("%s are no messages to the agent", (_what, content, key) => {
  expect(parse(content, key)).toBeUndefined();
});

test("mentions of the number and of its alias, which are taken out of the text; a longer number is another", () => {
  const mention = (text: string, mentionedJid: string[]) =>
    parse({ extendedTextMessage: { text, contextInfo: { mentionedJid } } }, inGroup);
  expect(mention("@15550009999  /clear", ["15550009999@s.whatsapp.net"])).toMatchObject({
    mentioned: true,
    text: "/clear",
  });
  expect(mention("hey @90009, come", ["90009@lid"])).toMatchObject({ mentioned: true, text: "hey , come" });
  expect(mention("@155500099990 hi", ["155500099990@s.whatsapp.net"])).toMatchObject({
    mentioned: false,
    text: "@155500099990 hi",
  });
  expect(mention("@15550009999 hi", [])).toMatchObject({ mentioned: false, text: "@15550009999 hi" });
});

test("a reply to one's own message counts as a mention, one to another's does not", () => {
  const reply = (participant: string) =>
    parse({ extendedTextMessage: { text: "yes", contextInfo: { stanzaId: "X", participant } } }, inGroup)
      ?.mentioned;
  expect(reply("15550009999@s.whatsapp.net")).toBe(true);
  expect(reply("90009@lid")).toBe(true);
  expect(reply(ALICE)).toBe(false);
});

test("aliases of the sender, in direct messages and in groups", () => {
  const direct = parse(
    { conversation: "x" },
    { remoteJid: "70001@lid", remoteJidAlt: "15550001111:2@s.whatsapp.net" },
  );
  expect(direct).toMatchObject({ senderId: "70001@lid", senderAliases: [ALICE] });
  const group = { remoteJid: GROUP, participant: "70001@lid", participantAlt: ALICE };
  expect(parse({ conversation: "x" }, group)).toMatchObject({
    senderId: "70001@lid",
    senderAliases: [ALICE],
  });
});
