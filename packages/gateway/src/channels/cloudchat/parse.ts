import { fileName } from "../../lib/one-line.ts";
import { type Loose, numberOf, objectOf, objectsOf, textOf } from "../support/payload.ts";
import type { InboundMedia, InboundMessage, Receipt } from "../types.ts";

const MEDIA = { image: "image", document: "document", audio: "audio", video: "video" } as const;
const STATES = ["sent", "delivered", "read", "failed"] as const;

/** What a button stands for: its command, else what stood on it. */
const chosen = (id: unknown, title: unknown) => {
  const command = textOf(id);
  return command?.startsWith("/") ? command : textOf(title);
};

function mediaOf(message: Loose): InboundMedia | undefined {
  if (typeof message.type !== "string" || !Object.hasOwn(MEDIA, message.type)) return undefined;
  const kind = MEDIA[message.type as keyof typeof MEDIA];
  const file = objectOf(message[kind]);
  const id = textOf(file.id);
  if (id === undefined) return undefined;
  const name = fileName(file.filename);
  const mime = textOf(file.mime_type);
  return {
    kind: kind === "audio" && file.voice === true ? "voice" : kind,
    ref: { id },
    ...(name !== undefined && { name }),
    ...(mime !== undefined && { mime }),
  };
}

/** Text and files of a message; undefined for kinds that are ignored (reactions, stickers, places, …). */
function contentOf(message: Loose): Pick<InboundMessage, "text" | "media"> | undefined {
  const media = mediaOf(message);
  if (media) return { text: textOf(objectOf(message[String(message.type)]).caption) ?? "", media: [media] };
  const text = said(message);
  return text === undefined ? undefined : { text };
}

function said(message: Loose): string | undefined {
  switch (message.type) {
    case "text":
      return textOf(objectOf(message.text).body);
    case "button": {
      const { payload, text } = objectOf(message.button);
      return chosen(payload, text);
    }
    case "interactive": {
      const { button_reply, list_reply } = objectOf(message.interactive);
      const { id, title } = objectOf(button_reply ?? list_reply);
      return chosen(id, title);
    }
    default:
      return undefined;
  }
}

function parseMessage(
  message: Loose,
  nameOf: (waId: string) => string | undefined,
): InboundMessage | undefined {
  const [id, from] = [textOf(message.id), textOf(message.from)];
  const content = contentOf(message);
  if (!id || !from || !/^\d{5,20}$/.test(from) || !content || message.group_id !== undefined)
    return undefined;
  const senderName = nameOf(from);
  const seconds = numberOf(message.timestamp);
  const quoted = textOf(objectOf(message.context).id);
  return {
    eventId: id,
    chatId: from,
    kind: "dm",
    senderId: from,
    ...(senderName !== undefined && { senderName }),
    ...content,
    mentioned: true,
    messageId: id,
    ...(seconds !== undefined && { sentAt: seconds * 1000 }),
    ...(quoted !== undefined && { reply: { quoted }, meta: { reply_to: quoted } }),
  };
}

/** Names by number; the number of a message is written differently in some countries, so a lone contact is the sender. */
function namesOf(contacts: readonly Loose[]): (waId: string) => string | undefined {
  const names = new Map<unknown, string | undefined>();
  for (const { wa_id, profile } of contacts)
    if (!names.has(wa_id)) names.set(wa_id, textOf(objectOf(profile).name));
  const [lone] = contacts.length === 1 ? names.values() : [];
  return (waId) => (names.has(waId) ? names.get(waId) : lone);
}

function parseStatus(status: Loose): Receipt | undefined {
  const messageId = textOf(status.id);
  const state = STATES.find((name) => name === status.status);
  if (messageId === undefined || state === undefined) return undefined;
  const [error] = objectsOf(status.errors);
  const reason = error && (textOf(objectOf(error.error_data).details) ?? textOf(error.title));
  const key = textOf(status.biz_opaque_callback_data);
  return { messageId, state, ...(key !== undefined && { key }), ...(reason !== undefined && { reason }) };
}

/**
 * Messages and receipts of a delivery that are for `phoneNumberId`; any number's when it is not known. A file's `ref`
 * is `{id}`, `reply` is `{quoted}` when the message answers another.
 * Source: https://developers.facebook.com/docs/whatsapp/cloud-api/webhooks/payload-examples
 */
export function parseDelivery(delivery: unknown, phoneNumberId: string | undefined) {
  const messages: InboundMessage[] = [];
  const receipts: Receipt[] = [];
  for (const entry of objectsOf(objectOf(delivery).entry)) {
    for (const { value } of objectsOf(entry.changes)) {
      const { metadata, contacts, messages: sent, statuses } = objectOf(value);
      const number = textOf(objectOf(metadata).phone_number_id);
      if (phoneNumberId && number !== undefined && number !== phoneNumberId) continue;
      const nameOf = namesOf(objectsOf(contacts));
      for (const entry of objectsOf(sent)) {
        const message = parseMessage(entry, nameOf);
        if (message) messages.push(message);
      }
      for (const status of objectsOf(statuses)) {
        const receipt = parseStatus(status);
        if (receipt) receipts.push(receipt);
      }
    }
  }
  return { messages, receipts };
}
