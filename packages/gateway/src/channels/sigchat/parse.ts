import { fileName } from "../../lib/one-line.ts";
import {
  contentId,
  type Loose,
  numberOf,
  objectOf,
  objectsOf,
  parseJson,
  textOf,
} from "../support/payload.ts";
import type { InboundMedia, InboundMessage } from "../types.ts";

/** Where an event comes from, in the gateway's words; undefined when it does not say who wrote. */
function placeOf(
  source: Loose,
): Pick<InboundMessage, "chatId" | "kind" | "groupId" | "senderId"> | undefined {
  const userId = textOf(source.userId);
  if (source.type === "user") return userId ? { chatId: userId, kind: "dm", senderId: userId } : undefined;
  const kind = source.type === "group" ? "group" : source.type === "room" ? "room" : undefined;
  const id = kind && textOf(source[`${kind}Id`]);
  // Members who have not agreed to share their profile come without a user id.
  return kind && id ? { chatId: id, kind, groupId: id, senderId: userId ?? id } : undefined;
}

/** Text and files of an event; undefined for kinds that are ignored. */
function contentOf(event: Loose, message: Loose): Pick<InboundMessage, "text" | "media"> | undefined {
  if (event.type === "postback") {
    const data = textOf(objectOf(event.postback).data);
    return data?.startsWith("/") ? { text: data } : undefined;
  }
  if (event.type !== "message") return undefined;
  if (message.type === "text") {
    const text = textOf(message.text);
    return text === undefined ? undefined : { text };
  }
  const id = textOf(message.id);
  if ((message.type !== "image" && message.type !== "file") || id === undefined) return undefined;
  const name = fileName(message.fileName);
  const size = numberOf(message.fileSize);
  const media: InboundMedia = {
    kind: message.type === "image" ? "image" : "document",
    ref: { messageId: id },
    ...(name !== undefined && { name }),
    ...(size !== undefined && { size }),
  };
  return { text: "", media: [media] };
}

function parseEvent(event: Loose): InboundMessage | undefined {
  const message = objectOf(event.message);
  const place = placeOf(objectOf(event.source));
  const content = contentOf(event, message);
  // In standby another module of the same account answers.
  if (!place || !content || event.mode === "standby") return undefined;
  const messageId = textOf(message.id);
  const replyToken = textOf(event.replyToken);
  const timestamp = numberOf(event.timestamp);
  // What is brought again differs in how it was brought alone.
  const { deliveryContext: _, ...same } = event;
  return {
    eventId: textOf(event.webhookEventId) ?? contentId(same),
    ...place,
    ...content,
    mentioned: true,
    ...(messageId !== undefined && { messageId }),
    ...(timestamp !== undefined && { sentAt: timestamp }),
    ...(replyToken !== undefined && {
      reply: { replyToken, ...(timestamp !== undefined && { timestamp }) },
    }),
  };
}

/**
 * Messages of a webhook body: texts, images and files, and buttons that carry a slash command. Everything else is
 * left out. `reply` is `{replyToken, timestamp?}` (Unix ms), a file's `ref` is `{messageId}`.
 * Source: https://developers.line.biz/en/reference/messaging-api/#webhook-event-objects
 */
export function parseEvents(body: Buffer): InboundMessage[] {
  return objectsOf(objectOf(parseJson(body)).events).flatMap((event) => parseEvent(event) ?? []);
}
