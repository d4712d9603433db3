import { parseBlocks } from "@agent-gateway/contract/markdown";
import type { ChannelName } from "../types.ts";
import { type Dialect, discord, plain, slack, telegram, whatsapp } from "./dialects.ts";
import { splitMarkdown } from "./split.ts";
import { writeBlocks } from "./write.ts";

/**
 * How each channel writes, and the longest text that one message takes, in UTF-16 units of what is counted.
 * Telegram: 4096 after its entities are parsed (Bot API, `sendMessage`). Discord: 2000 (`content`). LINE: 5000 (text
 * message object). WhatsApp Cloud: 4096 (`text.body`), taken for linked devices too. Slack: recommends 4,000 at most for
 * `text`.
 */
const CHANNEL: Readonly<Record<ChannelName, { dialect: Dialect; limit: number }>> = {
  botchat: { dialect: telegram, limit: 4096 },
  guildchat: { dialect: discord, limit: 2000 },
  devicechat: { dialect: whatsapp, limit: 4096 },
  cloudchat: { dialect: whatsapp, limit: 4096 },
  sigchat: { dialect: plain, limit: 5000 },
  teamchat: { dialect: slack, limit: 3900 },
};

/**
 * Splits an agent's Markdown into messages, in order, at the most sensible places. Each part is Markdown again, and fits
 * the channel's limit both rendered and as {@link plainOf}. A text that shows nothing has no parts.
 */
export function splitFor(channel: ChannelName, markdown: string): string[] {
  const { dialect, limit } = CHANNEL[channel];
  return splitMarkdown(dialect, limit, markdown);
}

/**
 * Markdown in the channel's own markup: Telegram HTML, Discord's Markdown, Slack's mrkdwn, WhatsApp's signs, plain text
 * for LINE. What the text holds of that markup by itself is escaped where the provider knows an escape.
 */
export const render = (channel: ChannelName, markdown: string): string =>
  writeBlocks(CHANNEL[channel].dialect, parseBlocks(markdown));

/** Markdown as text for people: no signs, links as `text (address)`. */
export const plainOf = (markdown: string): string => writeBlocks(plain, parseBlocks(markdown));
