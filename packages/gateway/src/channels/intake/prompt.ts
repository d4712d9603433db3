import { escapeText, escapeXml } from "../../lib/xml.ts";
import type { ChannelPlace, InboundMessage } from "../types.ts";

/**
 * What the agent is told of a message (contract section 10). Every value is escaped, so that no sender can close the
 * element and speak as somebody else.
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
  const shown = attributes
    .filter((pair): pair is [string, string] => pair[1] !== undefined)
    .map(([name, value]) => `${name.replace(/[^A-Za-z0-9_]/g, "_")}="${escapeXml(oneLine(value))}"`);
  return `<channel_message ${shown.join(" ")}>${escapeText(text)}</channel_message>`;
}

const oneLine = (value: string) => value.replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
