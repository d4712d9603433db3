import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { seedCredentials, startCrabline } from "../../../fixtures/crabline-device.ts";
import { deviceRig } from "../../../fixtures/device-rig.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { until } from "../../../harness.ts";

const ALICE = "15550001111@s.whatsapp.net";
const GROUP = "120363000000000001@g.us";

async function world() {
  const folder = await tempFolder();
  const crabline = await startCrabline(join(folder, "recorder.jsonl"));
  await seedCredentials(join(folder, ".devicechat-state"));
  const rig = await deviceRig({ url: crabline.url, folder });
  void rig.connect();
  await until(() => rig.status().status === "linked", "the link");
  return {
    crabline,
    rig,
    folder,
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]();
      await crabline.close();
    },
  };
}

test("credentials of a linked phone connect over the real handshake", async () => {
  await using w = await world();
  expect(w.rig.status()).toEqual({ status: "linked", loggedOut: false, phoneNumber: "+15550009999" });
  expect(w.rig.lives()).toBeGreaterThan(0);
});

test("a direct message comes in and is answered", async () => {
  await using w = await world();
  await w.crabline.inbound({
    chatJid: ALICE,
    senderJid: ALICE,
    text: "hello",
    messageId: "M1",
    pushName: "Alice",
  });
  await until(() => w.rig.received.length > 0, "the message");
  expect(w.rig.received[0]).toMatchObject({
    eventId: `${ALICE}/M1`,
    chatId: ALICE,
    kind: "dm",
    senderId: ALICE,
    senderName: "Alice",
    text: "hello",
    messageId: "M1",
  });
  const outcome = await w.rig.send(ALICE, "hi **there**");
  expect(outcome).toMatchObject({ status: "sent" });
  expect(await w.crabline.sent()).toEqual([
    { id: "messageId" in outcome ? outcome.messageId : "", chat: ALICE, text: "hi *there*" },
  ]);
});

test("a group message comes in with its sender", async () => {
  await using w = await world();
  await w.crabline.inbound({ chatJid: GROUP, senderJid: ALICE, text: "hello all", messageId: "G1" });
  await until(() => w.rig.received.length > 0, "the message");
  expect(w.rig.received[0]).toMatchObject({
    chatId: GROUP,
    groupId: GROUP,
    kind: "group",
    senderId: ALICE,
    mentioned: false,
  });
});

test("a voice message brings its file", async () => {
  await using w = await world();
  const content = Buffer.from("OggS and so on, long enough for more than one block of the cipher");
  const audio = { contentBase64: content.toString("base64"), mimeType: "audio/ogg", ptt: true };
  await w.crabline.inbound({ chatJid: ALICE, senderJid: ALICE, audio });
  await until(() => w.rig.received.length > 0, "the message");
  const [media] = w.rig.received[0]!.media!;
  expect(media).toMatchObject({ kind: "voice", mime: "audio/ogg", size: content.length });
  const stream = await w.rig.adapter.fetchMedia!(media!, new AbortController().signal);
  expect((await buffer(stream)).equals(content)).toBe(true);
});

test("what came while the device was away comes after the reconnect, to a server that begins anew too", async () => {
  await using w = await world();
  await w.rig.disconnect();
  await w.crabline.inbound({ chatJid: ALICE, senderJid: ALICE, text: "missed" });
  void w.rig.connect();
  await until(() => w.rig.received.length > 0, "the message");
  expect(w.rig.received.map(({ text }) => text)).toEqual(["missed"]);
});
