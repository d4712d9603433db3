import type { proto, WAMessage } from "baileys";
import type { InboundMedia, InboundMessage, JsonObject } from "../types.ts";
import { bareJid, isGroup, isUser, userOf } from "./jid.ts";

/** The longest piece of a message that a reply to it repeats. */
const MAX_QUOTE_CHARS = 200;

type Long = { toString(): string } | number | null | undefined;
/** Whole numbers come as numbers or as objects of a library. */
const toNumber = (value: Long): number | undefined => {
  const number = value === null || value === undefined ? Number.NaN : Number(String(value));
  return Number.isFinite(number) && number > 0 ? number : undefined;
};

/** What is inside disappearing, view-once and captioned messages. */
function unwrap(message: proto.IMessage | null | undefined): proto.IMessage | undefined {
  let inner = message ?? undefined;
  for (let depth = 0; inner && depth < 5; depth++) {
    const next =
      inner.ephemeralMessage ??
      inner.viewOnceMessage ??
      inner.viewOnceMessageV2 ??
      inner.viewOnceMessageV2Extension ??
      inner.documentWithCaptionMessage;
    if (!next) return inner;
    inner = next.message ?? undefined;
  }
  return inner;
}

interface File {
  url?: string | null;
  directPath?: string | null;
  mediaKey?: Uint8Array | null;
  mimetype?: string | null;
  fileLength?: Long;
  fileName?: string | null;
}

function mediaOf(kind: InboundMedia["kind"], file: File): InboundMedia {
  const ref: JsonObject = {
    ...(file.url && { url: file.url }),
    ...(file.directPath && { directPath: file.directPath }),
    mediaKey: Buffer.from(file.mediaKey ?? []).toString("base64"),
  };
  const size = toNumber(file.fileLength);
  return {
    kind,
    ref,
    ...(file.fileName && { name: file.fileName }),
    ...(file.mimetype && { mime: file.mimetype }),
    ...(size !== undefined && { size }),
  };
}

interface Body {
  text: string;
  media: InboundMedia[];
  context: proto.IContextInfo | null | undefined;
}

function bodyOf(content: proto.IMessage): Body | undefined {
  const { extendedTextMessage: extended, imageMessage: image, videoMessage: video } = content;
  const { documentMessage: document, audioMessage: audio } = content;
  if (content.conversation) return { text: content.conversation, media: [], context: undefined };
  if (extended?.text) return { text: extended.text, media: [], context: extended.contextInfo };
  if (image)
    return { text: image.caption ?? "", media: [mediaOf("image", image)], context: image.contextInfo };
  if (video)
    return { text: video.caption ?? "", media: [mediaOf("video", video)], context: video.contextInfo };
  if (document) {
    const media = [mediaOf("document", document)];
    return { text: document.caption ?? "", media, context: document.contextInfo };
  }
  if (audio) {
    return { text: "", media: [mediaOf(audio.ptt ? "voice" : "audio", audio)], context: audio.contextInfo };
  }
  return undefined;
}

/** The text without the mentions of oneself, which stand in it as `@` and the number. */
function withoutMention(text: string, self: readonly string[]): string {
  const users = self.map((jid) => userOf(jid).replace(/\D/g, "")).filter((user) => user !== "");
  if (users.length === 0) return text;
  return text.replace(new RegExp(`@(?:${users.join("|")})(?!\\d)[ \\t]*`, "g"), "").trim();
}

/**
 * A message of the library in the gateway's words.
 * @param self Own JIDs: of the number and its alias.
 * @returns undefined for what is no message to the agent: own ones, status updates, reactions, changes, calls.
 */
export function parseMessage(message: WAMessage, self: readonly string[]): InboundMessage | undefined {
  const { key } = message;
  if (key.fromMe || !key.remoteJid || !key.id) return undefined;
  const chatId = bareJid(key.remoteJid);
  const group = isGroup(chatId);
  const sender = group ? key.participant : key.remoteJid;
  if (!sender || !isUser(sender) || !(group || isUser(chatId))) return undefined;
  const own = self.map(bareJid);
  const senderId = bareJid(sender);
  if (own.includes(senderId)) return undefined;
  const content = unwrap(message.message);
  const body = content && bodyOf(content);
  if (!body) return undefined;

  const named = (body.context?.mentionedJid ?? []).some((jid) => own.includes(bareJid(jid)));
  const repliedTo = body.context?.stanzaId ? body.context.participant : undefined;
  const mentioned = !group || named || (typeof repliedTo === "string" && own.includes(bareJid(repliedTo)));
  const alias = group ? key.participantAlt : key.remoteJidAlt;
  const sentAt = toNumber(message.messageTimestamp);
  const text = named ? withoutMention(body.text, own) : body.text;
  return {
    eventId: `${chatId}/${key.id}`,
    chatId,
    kind: group ? "group" : "dm",
    ...(group && { groupId: chatId }),
    senderId,
    ...(alias && { senderAliases: [bareJid(alias)] }),
    ...(message.pushName && { senderName: message.pushName }),
    text,
    mentioned,
    messageId: key.id,
    ...(sentAt !== undefined && { sentAt: sentAt * 1000 }),
    ...(body.media.length > 0 && { media: body.media }),
    // In a group a reply says which message it answers.
    reply: group
      ? { participant: senderId, quoted: { id: key.id, text: body.text.slice(0, MAX_QUOTE_CHARS) } }
      : {},
  };
}
