import { createHash } from "node:crypto";
import type { AnyMessageContent, WAMessage } from "baileys";
import { plainOf, render } from "../render/index.ts";
import type { Content, Target } from "../types.ts";
import { isGroup } from "./jid.ts";

/**
 * Id of a message, in the form that the library gives it (3EB0 and 18 hex digits): the same for every attempt, and
 * phones show a message of one id once.
 */
export const messageIdOf = (key: string): string =>
  `3EB0${createHash("sha256").update(key).digest("hex").slice(0, 18).toUpperCase()}`;

/** The content in the library's words. */
export function contentOf(content: Content): AnyMessageContent {
  if (content.kind === "text") {
    return { text: content.plain ? plainOf(content.text) : render("devicechat", content.text) };
  }
  const file = { url: content.path };
  const caption = content.caption === undefined ? {} : { caption: render("devicechat", content.caption) };
  const mimetype = content.mime.split(";")[0]!;
  // What phones show as a picture; the rest they take as a file.
  if (!content.asDocument && /^image\/(?:jpeg|png|webp)$/.test(mimetype)) return { image: file, ...caption };
  return { document: file, mimetype, fileName: content.name, ...caption };
}

/** The message that a reply quotes: what {@link Target.reply} says of it, with what it said. */
export function quotedBy({ chatId, reply }: Target): WAMessage | undefined {
  const { quoted, participant } = reply;
  if (typeof quoted !== "object" || quoted === null || !("id" in quoted) || typeof quoted.id !== "string") {
    return undefined;
  }
  const key = {
    remoteJid: chatId,
    id: quoted.id,
    fromMe: quoted.fromMe === true,
    ...(isGroup(chatId) && typeof participant === "string" && { participant }),
  };
  return { key, message: { conversation: typeof quoted.text === "string" ? quoted.text : "" } };
}

/** Where the message that is answered stands, for receipts and reactions. */
export function keyOf({ chatId, messageId, reply }: Target) {
  if (messageId === undefined) return undefined;
  const { participant } = reply;
  return {
    remoteJid: chatId,
    id: messageId,
    fromMe: false,
    ...(typeof participant === "string" && { participant }),
  };
}
