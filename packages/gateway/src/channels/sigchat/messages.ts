import type { messagingApi } from "@line/bot-sdk";
import { plainOf, render } from "../render/index.ts";
import { openOutgoing } from "../support/outgoing-file.ts";
import type { Button, Content } from "../types.ts";

/** Limits. Source: https://developers.line.biz/en/reference/messaging-api/#message-objects */
const MAX_IMAGE_BYTES = 10 * 1024 * 1024;
const MAX_QUICK_REPLIES = 13;
const MAX_LABEL_CHARS = 20;
const MAX_TEXT_UNITS = 5_000;
const IMAGES = new Set(["image/jpeg", "image/png"]);

export type PublicLink = (path: string) => Promise<string | undefined>;

const textMessage = (text: string): messagingApi.TextMessage => ({
  type: "text",
  text: text.slice(0, MAX_TEXT_UNITS).toWellFormed(),
});

function quickReply(buttons: readonly Button[]): messagingApi.QuickReply {
  return {
    items: buttons.slice(0, MAX_QUICK_REPLIES).map(({ label, command }) => ({
      type: "action",
      action: { type: "message", label: [...label].slice(0, MAX_LABEL_CHARS).join(""), text: command },
    })),
  };
}

/** A message in LINE's form: files become links, because bots cannot send files. */
export async function messagesOf(
  content: Content,
  link: PublicLink | undefined,
): Promise<messagingApi.Message[]> {
  if (content.kind === "text") {
    const message = textMessage(content.plain ? plainOf(content.text) : render("sigchat", content.text));
    const { buttons = [] } = content;
    return [buttons.length > 0 ? { ...message, quickReply: quickReply(buttons) } : message];
  }
  const { path, name, mime, asDocument, caption } = content;
  const url = await link?.(path);
  const before = caption ? [textMessage(caption)] : [];
  if (url === undefined) return [...before, textMessage(noLink(name, mime))];
  const shown = IMAGES.has(mime) && !asDocument && (await sizeOf(path)) <= MAX_IMAGE_BYTES;
  return shown
    ? [...before, { type: "image", originalContentUrl: url, previewImageUrl: url }]
    : [...before, textMessage(`${name}\n${url}`)];
}

async function sizeOf(path: string): Promise<number> {
  await using file = await openOutgoing(path);
  return file?.size ?? Number.POSITIVE_INFINITY;
}

function noLink(name: string, mime: string): string {
  const what = mime.startsWith("image/") ? "image" : "file";
  return (
    `[The ${what} "${name}" cannot be shown here: LINE accepts ${what}s only from public https addresses, and this ` +
    "gateway has none (gateway.publicUrl).]"
  );
}
