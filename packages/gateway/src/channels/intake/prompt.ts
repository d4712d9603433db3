import { escapeText, escapeXml } from "../../lib/xml.ts";
import type { ChannelPlace, InboundMessage } from "../types.ts";

/**
 * The message as the agent gets it (contract section 10). Every value is escaped, so that no sender can close the
 * element and speak for somebody else.
 */
export function channelPrompt(
  place: ChannelPlace,
  message: InboundMessage,
  text: string,
  meta: Readonly<Record<string, string>>,
): string {
  const attributes: Array<[string, string | undefined]> = [
    ["channel", place.channel],
    ["chat", message.chatId],
    ["sender", message.senderId],
    ["sender_name", message.senderName ?? message.senderId],
    ["chat_type", message.kind],
    ["message_id", message.messageId],
    ["account_id", place.account || undefined],
    ["sent_at", message.sentAt === undefined ? undefined : new Date(message.sentAt).toISOString()],
    ...Object.entries({ ...message.meta, ...meta }),
  ];
  const shown = new Map<string, string>();
  for (const [given, value] of attributes) {
    const name = given.replace(/[^A-Za-z0-9_]/g, "_");
    // An element has each attribute only once; the gateway's own attributes come first and win.
    if (value !== undefined && !shown.has(name)) shown.set(name, escapeXml(oneLine(value)));
  }
  const all = Array.from(shown, ([name, value]) => `${name}="${value}"`);
  return `<channel_message ${all.join(" ")}>${escapeText(text)}</channel_message>`;
}

const oneLine = (value: string) => value.replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
