import { expect, test } from "vitest";
import {
  contentOf,
  keyOf,
  messageIdOf,
  quotedBy,
} from "../../../../packages/gateway/src/channels/devicechat/compose.ts";

const file = (mime: string, more = {}) =>
  contentOf({ kind: "file", path: "/w/a.bin", mime, name: "a.bin", ...more });
const target = { chatId: "1@s.whatsapp.net", reply: {}, receivedAt: 0 };

test("images go as images, other files and what is asked for as a document with name and type", () => {
  const url = { url: "/w/a.bin" };
  expect(file("image/png")).toEqual({ image: url });
  expect(file("image/jpeg", { caption: "**look**" })).toEqual({ image: url, caption: "*look*" });
  const document = (mimetype: string) => ({ document: url, mimetype, fileName: "a.bin" });
  expect(file("image/png", { asDocument: true })).toEqual(document("image/png"));
  expect(file("image/svg+xml")).toEqual(document("image/svg+xml"));
  expect(file("text/plain; charset=utf-8")).toEqual(document("text/plain"));
  expect(file("application/pdf", { caption: "read" })).toEqual({
    ...document("application/pdf"),
    caption: "read",
  });
});

test("a key gives one id, another key another", () => {
  expect(messageIdOf("a")).toBe(messageIdOf("a"));
  expect(messageIdOf("a")).not.toBe(messageIdOf("b"));
  expect(messageIdOf("a")).toMatch(/^3EB0[0-9A-F]{18}$/);
});

test("what a target says is quoted, receipted and reacted to", () => {
  expect(quotedBy(target)).toBeUndefined();
  expect(quotedBy({ ...target, reply: { quoted: { id: "M1", text: "hi" } } })).toEqual({
    key: { remoteJid: target.chatId, id: "M1", fromMe: false },
    message: { conversation: "hi" },
  });
  const group = { ...target, chatId: "1@g.us", reply: { participant: "2@lid", quoted: { id: "M1" } } };
  expect(quotedBy(group)).toMatchObject({ key: { participant: "2@lid" }, message: { conversation: "" } });
  expect(keyOf(target)).toBeUndefined();
  expect(keyOf({ ...group, messageId: "M2" })).toEqual({
    remoteJid: "1@g.us",
    id: "M2",
    fromMe: false,
    participant: "2@lid",
  });
});
