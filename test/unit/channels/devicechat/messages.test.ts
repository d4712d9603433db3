import { cp } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { InboundMessage } from "../../../../packages/gateway/src/channels/types.ts";
import { type DeviceRig, deviceRig, linkRig, type RigOptions } from "../../../fixtures/device-rig.ts";
import { DEVICE, DEVICE_ALIAS, type FakePhone, startFakePhone } from "../../../fixtures/fake-phone/index.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { until } from "../../../harness.ts";

const ALICE = "15550001111@s.whatsapp.net";
const BOB = "15550002222@s.whatsapp.net";
const GROUP = "120363000000000001@g.us";
const SELF = "15550009999@s.whatsapp.net";

let phone: FakePhone;
let rig: DeviceRig;

const linkedRig = (options?: RigOptions) => linkRig(phone, options);
beforeEach(async () => {
  phone = await startFakePhone();
});
afterEach(async () => {
  await rig[Symbol.asyncDispose]();
  await phone.close();
});

const taken = (count: number) => until(() => rig.received.length >= count, `${count} messages`);
const confirmed = () => until(() => phone.unconfirmed().length === 0, "the receipt");

test("a message is stored before the provider is told that it was taken", async () => {
  const { promise: stored, resolve: store } = Promise.withResolvers<void>();
  const seen: string[][] = [];
  rig = await linkedRig({
    receive: async () => {
      seen.push(phone.unconfirmed());
      await stored;
    },
  });
  await phone.inbound(ALICE, { conversation: "hello" }, { id: "M1" });
  await until(() => seen.length > 0, "the message");
  expect(seen).toEqual([["M1"]]);
  // The provider hears nothing of it while it is being stored, whatever else is said.
  await rig.send(BOB, "meanwhile");
  expect(phone.unconfirmed()).toEqual(["M1"]);
  store();
  await confirmed();
  expect(rig.received.map(({ text }) => text)).toEqual(["hello"]);
});

test("a message that cannot be stored ends the connection unconfirmed and comes again", async () => {
  let full = true;
  rig = await linkedRig({
    receive: async () => {
      if (full) throw new Error("the disk is full");
    },
  });
  await phone.inbound(ALICE, { conversation: "hello" }, { id: "M1" });
  await until(() => rig.errors.length > 0, "the end of the connection");
  expect(rig.errors).toEqual(["Could not store messages."]);
  expect(phone.unconfirmed()).toEqual(["M1"]);
  expect(phone.stanzas.filter(({ tag, attrs }) => tag === "receipt" && attrs.id === "M1")).toEqual([]);
  full = false;
  void rig.connect();
  await taken(1);
  expect(rig.received[0]).toMatchObject({ eventId: `${ALICE}/M1`, text: "hello" });
  await confirmed();
});

test("a message whose confirmation was lost with the line comes again, is known and is confirmed", async () => {
  rig = await linkedRig({ receive: async () => phone.cut() });
  await phone.inbound(ALICE, { conversation: "once" }, { id: "M1" });
  await taken(1);
  await until(() => rig.errors.length > 0, "the end of the connection");
  expect(phone.unconfirmed()).toEqual(["M1"]);
  void rig.connect();
  await confirmed();
  await phone.inbound(ALICE, { conversation: "next" }, { id: "M2" });
  await taken(2);
  expect(rig.received.map(({ text }) => text)).toEqual(["once", "next"]);
});

test("after a crash between storing and confirming the message can be read again, under the same event id", async () => {
  const copy = await tempFolder();
  rig = await linkedRig({
    receive: async () => {
      // What a killed process leaves: the credentials as they are now, and no confirmation.
      if (rig.received.length === 0) {
        await cp(rig.folder, copy, { recursive: true });
        phone.cut();
        throw new Error("killed");
      }
    },
  });
  await phone.inbound(ALICE, { conversation: "once" }, { id: "M1" });
  await until(() => rig.errors.length > 0, "the end of the connection");
  await using next = await deviceRig({ url: phone.url, folder: copy });
  void next.connect();
  await until(() => next.received.length > 0, "the message");
  expect(next.received[0]).toMatchObject({ eventId: `${ALICE}/M1`, text: "once" });
  await confirmed();
});

test("messages that cross each other keep the cipher in step, from the first one on", async () => {
  const replies: Promise<unknown>[] = [];
  rig = await linkedRig({
    receive: async (messages) => {
      // As fast as a reply can be.
      for (const { text } of messages) replies.push(rig.send(ALICE, `re ${text}`));
    },
  });
  const count = 30;
  for (let n = 0; n < count; n++) {
    await phone.inbound(ALICE, { conversation: `m${n}` });
    if (n % 7 === 0) await until(() => phone.sent.length > n / 2, "some replies");
  }
  await taken(count);
  await confirmed();
  expect(await Promise.all(replies)).toEqual(
    Array.from({ length: count }, () => expect.objectContaining({ status: "sent" })),
  );
  expect(rig.received.map(({ text }) => text)).toEqual(Array.from({ length: count }, (_, n) => `m${n}`));
  expect(phone.stanzas.filter(({ tag, attrs }) => tag === "receipt" && attrs.type === "retry")).toEqual([]);
});

test.each([
  ["a direct message", {}],
  ["a group message", { group: GROUP }],
])("%s that the device cannot read is asked for again", async (_what, options) => {
  rig = await linkedRig();
  phone.group(GROUP, [SELF, ALICE]);
  await phone.inbound(ALICE, { conversation: "first" }, options);
  await taken(1);
  await phone.inbound(ALICE, { conversation: "second" }, { ...options, garbled: true });
  await taken(2);
  await phone.inbound(ALICE, { conversation: "third" }, options);
  await taken(3);
  expect(rig.received.map(({ text }) => text)).toEqual(["first", "second", "third"]);
  await confirmed();
});

test("a message that the recipient cannot read is sent again, on a later connection too", async () => {
  rig = await linkedRig();
  await phone.inbound(ALICE, { conversation: "hello" });
  await taken(1);
  expect(await rig.send(ALICE, "one")).toMatchObject({ status: "sent" });
  await phone.forget(ALICE);
  phone.failNext("cut");
  expect(await rig.send(ALICE, "two")).toMatchObject({ status: "unknown" });
  await until(() => rig.errors.length > 0, "the end of the connection");
  expect(phone.sent.map(({ message }) => message.extendedTextMessage?.text)).toEqual(["one"]);
  void rig.connect();
  await until(() => phone.sent.length > 1, "the message");
  expect(phone.sent.map(({ message }) => message.extendedTextMessage?.text)).toEqual(["one", "two"]);
  expect(await rig.send(ALICE, "three")).toMatchObject({ status: "sent" });
  expect(phone.sent.at(-1)!.message.extendedTextMessage?.text).toBe("three");
});

test("messages that came while the device was away are taken in order after the reconnect", async () => {
  rig = await linkedRig();
  await phone.inbound(ALICE, { conversation: "first" });
  await taken(1);
  await rig.disconnect();
  for (const text of ["second", "third", "fourth"]) await phone.inbound(ALICE, { conversation: text });
  void rig.connect();
  await taken(4);
  expect(rig.received.map(({ text }) => text)).toEqual(["first", "second", "third", "fourth"]);
  await confirmed();
});

test("the same event delivered three times is offered once per connection, and always under one id", async () => {
  rig = await linkedRig({ receive: () => until(() => true, "a moment").then(() => {}) });
  await phone.inbound(ALICE, { conversation: "hello" }, { id: "M1" });
  await taken(1);
  await confirmed();
  await phone.inbound(ALICE, { conversation: "hello" }, { id: "M1" });
  await phone.inbound(ALICE, { conversation: "bye" }, { id: "M2" });
  await taken(2);
  expect(rig.received.map(({ eventId }) => eventId)).toEqual([`${ALICE}/M1`, `${ALICE}/M2`]);
});

test("linking does not import old chat history [CH-DEVICE-8]", async () => {
  rig = await linkedRig();
  const hourAgo = Math.floor(Date.now() / 1000) - 3_600;
  await phone.inbound(ALICE, { conversation: "old" }, { t: hourAgo });
  await phone.inbound(ALICE, { conversation: "new" });
  await taken(1);
  await confirmed();
  expect(rig.received.map(({ text }) => text)).toEqual(["new"]);
});

test("a sender behind an alias is known by the number, too", async () => {
  rig = await linkedRig();
  const alias = "70001@lid";
  await phone.inbound(alias, { conversation: "hello" }, { attrs: { sender_pn: ALICE } });
  await taken(1);
  expect(rig.received[0]).toMatchObject({ chatId: alias, senderId: alias, senderAliases: [ALICE] });
  // What the stanza no longer says, the library remembers.
  await phone.inbound(alias, { conversation: "again" });
  await taken(2);
  expect(rig.received[1]).toMatchObject({ senderId: alias, senderAliases: [ALICE] });
  expect(await rig.adapter.aliases(alias)).toEqual([ALICE]);
});

test("group messages carry the group, the participant and whether the number was mentioned [CH-DEVICE-9]", async () => {
  rig = await linkedRig();
  phone.group(GROUP, [SELF, ALICE]);
  await phone.inbound(ALICE, { conversation: "among us" }, { group: GROUP, id: "G1" });
  const mention = (text: string, contextInfo: object) => ({ extendedTextMessage: { text, contextInfo } });
  await phone.inbound(ALICE, mention("@15550009999 help", { mentionedJid: [SELF] }), { group: GROUP });
  await phone.inbound(ALICE, mention("@90009 help", { mentionedJid: [DEVICE_ALIAS] }), { group: GROUP });
  await phone.inbound(ALICE, mention("yes", { stanzaId: "X", participant: SELF }), { group: GROUP });
  await taken(4);
  const [first, ...rest] = rig.received as [InboundMessage, ...InboundMessage[]];
  expect(first).toMatchObject({
    eventId: `${GROUP}/G1`,
    chatId: GROUP,
    kind: "group",
    groupId: GROUP,
    senderId: ALICE,
    mentioned: false,
    text: "among us",
    reply: { participant: ALICE, quoted: { id: "G1", text: "among us" } },
  });
  expect(rest.map(({ mentioned, text }) => ({ mentioned, text }))).toEqual([
    { mentioned: true, text: "help" },
    { mentioned: true, text: "help" },
    { mentioned: true, text: "yes" },
  ]);
  await confirmed();
});

test("own messages, status updates, reactions and edits are no messages", async () => {
  rig = await linkedRig();
  const key = { remoteJid: SELF, id: "X", fromMe: true };
  await phone.inbound(ALICE, { reactionMessage: { key, text: "👍" } });
  await phone.inbound(ALICE, { protocolMessage: { key, type: 0 } });
  await phone.inbound(ALICE, { conversation: "real" });
  await taken(1);
  await confirmed();
  expect(rig.received.map(({ text }) => text)).toEqual(["real"]);
});

test("a reply goes out ciphered in WhatsApp's markup, under an id that its key gives, and quotes what it answers", async () => {
  rig = await linkedRig();
  const key = crypto.randomUUID();
  const target = rig.target(ALICE, { reply: { participant: ALICE, quoted: { id: "M1", text: "hello" } } });
  const outcome = await rig.send(ALICE, "**bold** answer", { key, target });
  expect(outcome).toEqual({ status: "sent", messageId: expect.stringMatching(/^3EB0[0-9A-F]{18}$/) });
  expect(phone.sent[0]!.message.extendedTextMessage).toMatchObject({
    text: "*bold* answer",
    contextInfo: { stanzaId: "M1", quotedMessage: { conversation: "hello" } },
  });
  expect(await rig.send(ALICE, "**bold** answer", { key })).toEqual(outcome);
  expect(phone.again).toEqual([phone.sent[0]!.id]);
  await rig.send(ALICE, "plain **signs**", {
    content: { kind: "text", text: "plain **signs**", plain: true },
  });
  expect(phone.sent.at(-1)!.message.extendedTextMessage?.text).toBe("plain signs");
});

test("a group is written to with its own cipher", async () => {
  rig = await linkedRig();
  phone.group(GROUP, [SELF, ALICE]);
  await phone.inbound(ALICE, { conversation: "hi" }, { group: GROUP });
  await taken(1);
  expect(await rig.send(GROUP, "hello all")).toMatchObject({ status: "sent" });
  expect(phone.sent.at(-1)).toMatchObject({
    to: GROUP,
    message: { extendedTextMessage: { text: "hello all" } },
  });
});

test.each([
  ["463", "failed"],
  ["479", "failed"],
  ["429", "retry"],
  ["500", "retry"],
] as const)("the provider's refusal %s is %s", async (error, status) => {
  rig = await linkedRig();
  phone.failNext({ error });
  expect(await rig.send(ALICE, "one")).toMatchObject({ status });
});

test("a group that the number is not in is refused before anything is written", async () => {
  rig = await linkedRig();
  expect(await rig.send("120363000000000009@g.us", "hello")).toEqual({
    status: "failed",
    reason: "WhatsApp refused the recipient (403).",
  });
});

test("an acknowledgement reacts to the message and is taken off when the work is done [CH-DEVICE-10]", async () => {
  rig = await linkedRig();
  await phone.inbound(ALICE, { conversation: "hi" }, { id: "M1" });
  await taken(1);
  const reactions = () => phone.sent.map(({ message }) => message.reactionMessage).filter(Boolean);
  const end = rig.adapter.working!(rig.target(ALICE, { messageId: "M1" }));
  await until(() => reactions().length === 1, "the reaction");
  expect(reactions()[0]).toMatchObject({ key: { id: "M1", remoteJid: ALICE }, text: "⏳" });
  rig.adapter.settle("M1");
  await until(() => reactions().length === 2, "its end");
  expect(reactions()[1]).toMatchObject({ key: { id: "M1" }, text: "" });
  end();
  expect(await rig.send(ALICE, "done")).toMatchObject({ status: "sent" });
  expect(reactions()).toHaveLength(2);
});

test("reactionLevel off suppresses both [CH-DEVICE-10]", async () => {
  rig = await linkedRig({ settings: { reactionLevel: "off" } });
  rig.adapter.working!(rig.target(ALICE, { messageId: "M1" }))();
  expect(await rig.send(ALICE, "done")).toMatchObject({ status: "sent" });
  expect(phone.sent).toHaveLength(1);
  expect(phone.stanzas.filter(({ tag }) => tag === "chatstate")).toEqual([]);
});

const reads = () =>
  phone.stanzas.filter(({ tag, attrs }) => tag === "receipt" && /^read/.test(attrs.type ?? ""));

test("read receipts default on [CH-DEVICE-11]", async () => {
  rig = await linkedRig();
  rig.adapter.markRead!(rig.target(ALICE, { messageId: "M1" }));
  await until(() => reads().length > 0, "the receipt");
  expect(reads()[0]!.attrs).toMatchObject({ id: "M1", to: ALICE });
});

test("sendReadReceipts false sends none [CH-DEVICE-11]", async () => {
  rig = await linkedRig({ settings: { sendReadReceipts: false } });
  rig.adapter.markRead!(rig.target(ALICE, { messageId: "M1" }));
  expect(await rig.send(ALICE, "done")).toMatchObject({ status: "sent" });
  expect(reads()).toEqual([]);
});

test("the device's own number is the one that it linked as", async () => {
  rig = await linkedRig();
  expect(`${rig.status().phoneNumber!.slice(1)}:3@s.whatsapp.net`).toBe(DEVICE);
});
