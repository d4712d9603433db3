import type { InboundMedia, InboundMessage, JsonObject } from "../types.ts";
import type { BotIdentity } from "./identity.ts";
import { addressed, needsName } from "./mentions.ts";
import { type CallbackQuery, type Message, type ReceivedFile, readUpdate, type User } from "./update.ts";

/** What an update means to the gateway. */
export type Parsed =
  | { kind: "message"; message: InboundMessage }
  /** A group became a supergroup, under another id. */
  | { kind: "moved"; from: string; to: string }
  /** Whether it addresses the bot can be decided only once the bot's name is known. */
  | { kind: "unready" }
  | { kind: "ignored" };

/** What a reply needs: see `Target.reply`. */
export interface ReplyPlace {
  /** Topic of a forum. */
  thread?: number;
  /** The pressed button's query, to be acknowledged. */
  callback?: string;
}

const IGNORED: Parsed = { kind: "ignored" };
/** A quoted message only identifies which one is meant. */
const MAX_QUOTE = 500;

/**
 * Reads an update: messages of people in private chats and groups, and pressed buttons. Channel posts, edits, service
 * messages and what other bots write are ignored. Pure.
 */
export function parseUpdate(value: unknown, bot: BotIdentity): Parsed {
  const update = readUpdate(value);
  if (!update) return IGNORED;
  if (update.message) return parseMessage(String(update.update_id), update.message, bot);
  if (update.callback_query) return parseCallback(String(update.update_id), update.callback_query);
  return IGNORED;
}

/** What {@link InboundMessage.reply} holds, read back from the database. */
export function replyPlace(reply: JsonObject): ReplyPlace {
  return {
    ...(typeof reply.thread === "number" && { thread: reply.thread }),
    ...(typeof reply.callback === "string" && { callback: reply.callback }),
  };
}

function parseMessage(eventId: string, message: Message, bot: BotIdentity): Parsed {
  const { chat, from } = message;
  if (message.migrate_to_chat_id !== undefined) {
    return { kind: "moved", from: String(chat.id), to: String(message.migrate_to_chat_id) };
  }
  if (!isChat(chat.type) || !from || from.is_bot || message.is_automatic_forward) return IGNORED;
  const media = mediaOf(message);
  const text = message.text ?? message.caption ?? "";
  if (text.trim() === "" && media.length === 0) return IGNORED;
  const entities = message.text === undefined ? message.caption_entities : message.entities;
  const direct = chat.type === "private";
  if (!direct && bot.username === undefined && needsName(entities, text)) return { kind: "unready" };
  const spoken = addressed(text, entities, bot);
  if (spoken.foreign) return IGNORED;
  return {
    kind: "message",
    message: {
      eventId,
      ...place(chat, from),
      // A bare mention still is a message.
      text: spoken.text === "" && media.length === 0 ? text.trim() : spoken.text,
      mentioned: direct || spoken.mentioned || answersBot(message, bot),
      ...(message.message_id !== undefined && { messageId: String(message.message_id) }),
      ...(message.date !== undefined && { sentAt: message.date * 1000 }),
      ...(media.length > 0 && { media }),
      reply: { ...threadOf(message) },
      meta: metaOf(message),
    },
  };
}

function parseCallback(eventId: string, query: CallbackQuery): Parsed {
  const { message, data, from } = query;
  if (!message || !isChat(message.chat.type) || from.is_bot || !/^\/[a-z]/i.test(data ?? "")) return IGNORED;
  return {
    kind: "message",
    message: {
      eventId,
      ...place(message.chat, from),
      text: data!,
      mentioned: true,
      reply: { ...threadOf(message), callback: query.id },
    },
  };
}

const isChat = (type: string) => type === "private" || type === "group" || type === "supergroup";

function place(chat: Message["chat"], from: User) {
  const chatId = String(chat.id);
  const name = [from.first_name, from.last_name].filter(Boolean).join(" ");
  return {
    chatId,
    ...(chat.type === "private" ? { kind: "dm" as const } : { kind: "group" as const, groupId: chatId }),
    senderId: String(from.id),
    ...(name !== "" && { senderName: name }),
  };
}

/** Outside forums a thread is a chain of replies, where nothing can be sent to by its id. */
function threadOf({
  is_topic_message,
  message_thread_id,
}: Pick<Message, "is_topic_message" | "message_thread_id">): ReplyPlace {
  return is_topic_message && message_thread_id !== undefined ? { thread: message_thread_id } : {};
}

/** The message that opened a topic seems to be answered by all in it that answer nothing else. */
const answered = ({ reply_to_message: to, message_thread_id }: Message) =>
  to && to.forum_topic_created === undefined && to.message_id !== message_thread_id ? to : undefined;

const answersBot = (message: Message, bot: BotIdentity) => answered(message)?.from?.id === bot.id;

function metaOf(message: Message): Record<string, string> {
  const to = answered(message);
  const quoted = message.quote?.text ?? to?.text ?? to?.caption;
  return {
    ...(message.chat.title !== undefined && { chat_title: message.chat.title }),
    ...(message.is_topic_message &&
      message.message_thread_id !== undefined && { topic_id: String(message.message_thread_id) }),
    ...(to && { reply_to: String(to.message_id) }),
    ...(quoted !== undefined && { reply_to_text: quoted.slice(0, MAX_QUOTE).toWellFormed() }),
  };
}

function mediaOf(message: Message): InboundMedia[] {
  // The sizes of one photo; all have the same proportions.
  const photo = message.photo?.reduce<ReceivedFile | undefined>(
    (best, size) => (!best || (size.file_size ?? 0) >= (best.file_size ?? 0) ? size : best),
    undefined,
  );
  const film = message.video ?? message.video_note;
  // An animation comes as a document too.
  const document = message.document ?? message.animation;
  return [
    ...(photo ? [media("image", { file_name: "photo.jpg", mime_type: "image/jpeg", ...photo })] : []),
    ...(document ? [media("document", document)] : []),
    ...(message.voice ? [media("voice", message.voice)] : []),
    ...(message.audio ? [media("audio", message.audio)] : []),
    ...(film ? [media("video", film)] : []),
  ];
}

function media(kind: InboundMedia["kind"], file: ReceivedFile): InboundMedia {
  return {
    kind,
    ref: { fileId: file.file_id },
    ...(file.file_name !== undefined && { name: file.file_name }),
    ...(file.mime_type !== undefined && { mime: file.mime_type }),
    ...(file.file_size !== undefined && { size: file.file_size }),
  };
}
