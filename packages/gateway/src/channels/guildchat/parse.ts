import { fileName } from "../../lib/one-line.ts";
import { type Loose, numberOf, objectOf, objectsOf, textOf } from "../support/payload.ts";
import type { InboundMedia, InboundMessage, JsonObject } from "../types.ts";

/** What there is to know of the bot to tell its messages and mentions from others'. */
export interface Me {
  /** The bot's user id. */
  id: string;
  /** The role that Discord made for the bot, by guild. */
  roles: Readonly<Record<string, string>>;
}

/** How the provider wants to hear that an interaction was taken. */
export type InteractionKind = "command" | "button";

export interface Interaction {
  id: string;
  token: string;
  kind: InteractionKind;
  message: InboundMessage;
}

/** https://docs.discord.com/developers/resources/message#message-object-message-types */
const WRITTEN_BY_PEOPLE = new Set([0, 19]);
/** https://docs.discord.com/developers/resources/message#message-object-message-flags */
const IS_VOICE_MESSAGE = 1 << 13;
/** https://docs.discord.com/developers/resources/message#message-reference-types */
const FORWARD = 1;
/** A quoted message only tells which one is meant. */
const MAX_QUOTE = 500;
/** Discord's names have 32 characters at most; one stands in a text as often as it is mentioned. */
const MAX_NAME = 64;

/** True for what may name a channel or a message in an address; those of Discord are snowflakes. */
export const isId = (value: unknown): value is string =>
  typeof value === "string" && /^[\w-]{1,64}$/.test(value);

/** True for ids as Discord gives them. */
export const isSnowflake = (value: unknown): value is string =>
  typeof value === "string" && /^\d{1,20}$/.test(value);

/** Orders ids by age; both are snowflakes. */
export const compareIds = (a: string, b: string): number =>
  a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);

/**
 * Reads a message as the socket or the REST API gives it; undefined for what bots, webhooks and Discord itself wrote,
 * and for what holds neither text nor files. Pure.
 * @param guildId For messages of the REST API, which do not tell it.
 */
export function parseMessage(message: Loose, me: Me, guildId?: string): InboundMessage | undefined {
  const author = objectOf(message.author);
  const { id, channel_id: chatId } = message;
  if (!isId(id) || !isId(chatId) || !isSnowflake(author.id)) return undefined;
  if (author.bot === true || author.id === me.id || message.webhook_id !== undefined) return undefined;
  if (!WRITTEN_BY_PEOPLE.has(numberOf(message.type) ?? 0)) return undefined;
  const guild = isSnowflake(message.guild_id) ? message.guild_id : guildId;
  const role = guild === undefined ? undefined : me.roles[guild];
  const answered = objectOf(message.referenced_message);
  const forwarded = numberOf(objectOf(message.message_reference).type) === FORWARD;
  const original = forwarded ? objectOf(objectsOf(message.message_snapshots)[0]?.message) : {};
  const media = [...mediaOf(message, chatId, id), ...mediaOf(original, chatId, id)];
  const content = textOf(message.content) ?? textOf(original.content) ?? "";
  if (content.trim() === "" && media.length === 0) return undefined;
  const mentioned =
    guild === undefined ||
    mentions(message, content, me) ||
    (role !== undefined && Array.isArray(message.mention_roles) && message.mention_roles.includes(role)) ||
    objectOf(answered.author).id === me.id;
  const text = spoken(content, message, me, role);
  const senderName = nameOf(author, objectOf(message.member));
  return {
    eventId: id,
    ...placeOf(chatId, guild),
    senderId: author.id,
    ...(senderName !== undefined && { senderName }),
    // A bare mention still is a message.
    text: text === "" && media.length === 0 ? content.trim() : text,
    mentioned,
    messageId: id,
    ...sentAt(message.timestamp),
    ...(media.length > 0 && { media }),
    meta: {
      ...(guild !== undefined && { guild_id: guild }),
      ...(forwarded && { forwarded: "true" }),
      ...(isSnowflake(answered.id) && { reply_to: answered.id }),
      ...(textOf(answered.content) && {
        reply_to_text: String(answered.content).slice(0, MAX_QUOTE).toWellFormed(),
      }),
    },
  };
}

/** True when the bot is mentioned: by the list of whom Discord saw, or by the words where there is none. */
const mentions = ({ mentions: users }: Loose, content: string, me: Me): boolean =>
  Array.isArray(users)
    ? objectsOf(users).some(({ id }) => id === me.id)
    : new RegExp(`<@!?${me.id}>`).test(content);

/** Reads a slash command or a pressed button of ours; undefined for every other interaction. Pure. */
export function parseInteraction(event: Loose): Interaction | undefined {
  const { id, token, channel_id: chatId } = event;
  const member = objectOf(event.member);
  const user = objectOf(event.user ?? member.user);
  if (!isSnowflake(id) || !isSnowflake(chatId) || !isSnowflake(user.id) || !textOf(token)) return undefined;
  const said = commandOf(event);
  if (!said) return undefined;
  const senderName = nameOf(user, member);
  const message: InboundMessage = {
    eventId: id,
    ...placeOf(chatId, isSnowflake(event.guild_id) ? event.guild_id : undefined),
    senderId: user.id,
    ...(senderName !== undefined && { senderName }),
    text: said.text,
    mentioned: true,
  };
  return { id, token: String(token), kind: said.kind, message };
}

/** https://docs.discord.com/developers/interactions/receiving-and-responding */
function commandOf(event: Loose): { kind: InteractionKind; text: string } | undefined {
  const data = objectOf(event.data);
  if (event.type === 2 && textOf(data.name)) {
    const input = objectsOf(data.options).map(({ value }) => String(value ?? "").trim());
    return { kind: "command", text: [`/${data.name}`, ...input].filter(Boolean).join(" ") };
  }
  const pressed = event.type === 3 ? textOf(data.custom_id) : undefined;
  return pressed !== undefined && /^\/[a-z]/i.test(pressed) ? { kind: "button", text: pressed } : undefined;
}

/** Id of the role that Discord made for the bot, in a guild's description. */
export function ownRole(guild: Loose, botId: string): string | undefined {
  const role = objectsOf(guild.roles).find(({ tags }) => objectOf(tags).bot_id === botId);
  return isSnowflake(role?.id) ? role.id : undefined;
}

const placeOf = (chatId: string, guild: string | undefined) =>
  guild === undefined
    ? { chatId, kind: "dm" as const, reply: {} }
    : { chatId, kind: "group" as const, groupId: guild, reply: { guild } };

/** The text without the bot's own mention; other people's mentions by name. */
function spoken(content: string, message: Loose, me: Me, role: string | undefined): string {
  const names = new Map(
    objectsOf(message.mentions).map((user) => [
      user.id,
      nameOf(user, objectOf(user.member))?.slice(0, MAX_NAME).toWellFormed(),
    ]),
  );
  return content
    .replace(/<@(!?|&)(\d{1,20})>[ \t]?/g, (whole, sort: string, id: string) => {
      if (sort === "&" ? id === role : id === me.id) return "";
      const name = sort === "&" ? undefined : names.get(id);
      return name === undefined ? whole : `@${name}${/\s$/.exec(whole)?.[0] ?? ""}`;
    })
    .trim();
}

/** The name that others see in this place. */
function nameOf(user: Loose, member: Loose): string | undefined {
  return textOf(member.nick) ?? textOf(user.global_name) ?? textOf(user.username);
}

function sentAt(timestamp: unknown): { sentAt?: number } {
  const ms = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  return Number.isFinite(ms) ? { sentAt: ms } : {};
}

function mediaOf(message: Loose, channel: string, messageId: string): InboundMedia[] {
  const isVoice = ((numberOf(message.flags) ?? 0) & IS_VOICE_MESSAGE) !== 0;
  return objectsOf(message.attachments).flatMap((attachment) => {
    const url = textOf(attachment.url);
    if (url === undefined || !isSnowflake(attachment.id)) return [];
    const mime = textOf(attachment.content_type)?.replace(/;.*$/s, "").trim().toLowerCase();
    const name = fileName(attachment.filename);
    const size = numberOf(attachment.size);
    const ref: JsonObject = { url, channel, message: messageId, attachment: attachment.id };
    return [
      {
        kind: isVoice ? "voice" : kindOf(mime),
        ref,
        ...(name !== undefined && { name }),
        ...(mime && { mime }),
        ...(size !== undefined && { size }),
      },
    ];
  });
}

function kindOf(mime: string | undefined): InboundMedia["kind"] {
  const family = mime?.split("/")[0];
  return family === "image" || family === "audio" || family === "video" ? family : "document";
}
