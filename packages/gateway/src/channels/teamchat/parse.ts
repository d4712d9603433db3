import { fileName } from "../../lib/one-line.ts";
import { contentId, type Loose, numberOf, objectOf, objectsOf, textOf } from "../support/payload.ts";
import type { InboundMedia, InboundMessage } from "../types.ts";
import { mentions, readable } from "./text.ts";

/** Subtypes that are messages of people; the rest tells of joins, edits, bots. */
const SPOKEN = new Set<unknown>([undefined, null, "file_share", "thread_broadcast"]);

/** Slack names one of the app's authorizations, whatever number there are. */
const MAX_AUTHORIZATIONS = 10;

const isDirect = (channel: string, type?: unknown) => channel.startsWith("D") || type === "im";

type Where = Pick<InboundMessage, "chatId" | "kind" | "groupId">;
const whereOf = (channel: string, direct: boolean): Where =>
  direct ? { chatId: channel, kind: "dm" } : { chatId: channel, kind: "group", groupId: channel };

/** In channels an answer opens a thread of its own, so that talks side by side stay apart. */
const threadOf = (threadTs: string | undefined, ts: string | undefined, direct: boolean) => {
  const thread = threadTs ?? (direct ? undefined : ts);
  return thread === undefined ? {} : { reply: { thread_ts: thread } };
};

function mediaOf(file: Loose): InboundMedia | undefined {
  const id = textOf(file.id);
  const url = textOf(file.url_private_download) ?? textOf(file.url_private);
  if (id === undefined && url === undefined) return undefined;
  const mime = textOf(file.mimetype);
  const name = fileName(file.name) ?? fileName(file.title);
  const size = numberOf(file.size);
  const group = mime?.split("/")[0];
  return {
    kind: group === "image" || group === "audio" || group === "video" ? group : "document",
    ref: { ...(id !== undefined && { id }), ...(url !== undefined && { url }) },
    ...(name !== undefined && { name }),
    ...(mime !== undefined && { mime }),
    ...(size !== undefined && { size }),
  };
}

/**
 * The message of an event, where it is one: direct messages, mentions, and with `requireMention` false what is said
 * in channels. A file's `ref` is `{id?, url?}` (`url_private`), `reply` is `{thread_ts?}`, `messageId` the message's
 * `ts`, which the same message has in all of its events.
 * Source: https://docs.slack.dev/reference/events/message
 */
export function parseEvent(body: Loose, requireMention: boolean): InboundMessage[] {
  const event = objectOf(body.event);
  const mention = event.type === "app_mention";
  if (body.type !== "event_callback" || (!mention && event.type !== "message")) return [];
  const [channel, user, ts] = [textOf(event.channel), textOf(event.user), textOf(event.ts)];
  if (channel === undefined || user === undefined || !SPOKEN.has(event.subtype)) return [];

  // A user's own authorization stands in the list too where an app acts for users.
  const own = objectsOf(body.authorizations)
    .slice(0, MAX_AUTHORIZATIONS)
    .filter(({ is_bot }) => is_bot !== false)
    .flatMap(({ user_id }) => (typeof user_id === "string" && /^\w+$/.test(user_id) ? [user_id] : []));
  if (textOf(event.bot_id) !== undefined || own.includes(user)) return [];

  const raw = textOf(event.text) ?? "";
  const direct = isDirect(channel, event.channel_type);
  const mentioned = direct || mention || mentions(raw, own);
  if (!mentioned && requireMention) return [];
  // Without authorizations, whom a mention calls is seen by its place alone.
  const first = mention && own.length === 0 ? /^\s*<@(\w+)/.exec(raw)?.[1] : undefined;
  const text = readable(raw, first === undefined ? own : [first]);
  const media = objectsOf(event.files).flatMap((file) => mediaOf(file) ?? []);
  if (text === "" && media.length === 0) return [];
  const sentAt = numberOf(ts);
  // A mention comes as a message too. The text tells apart what was said in the same moment.
  const messageKey = contentId(ts === undefined ? event : [channel, ts, user, raw]);
  return [
    {
      eventId: textOf(body.event_id) ?? messageKey,
      ...whereOf(channel, direct),
      senderId: user,
      text,
      mentioned,
      ...(ts !== undefined && { messageId: ts, messageKey }),
      ...(sentAt !== undefined && { sentAt: Math.round(sentAt * 1000) }),
      ...(media.length > 0 && { media }),
      ...threadOf(textOf(event.thread_ts), ts, direct),
    },
  ];
}

/**
 * The slash command of a pressed button or a chosen option.
 * Source: https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
 */
export function parseAction(payload: Loose): InboundMessage[] {
  const [channel, user, container, message] = [
    textOf(objectOf(payload.channel).id) ?? textOf(objectOf(payload.container).channel_id),
    objectOf(payload.user),
    objectOf(payload.container),
    objectOf(payload.message),
  ];
  const action = objectsOf(payload.actions)[0] ?? {};
  const command = textOf(action.value) ?? textOf(objectOf(action.selected_option).value);
  const senderId = textOf(user.id);
  if (payload.type !== "block_actions" || !channel || !senderId || !command?.startsWith("/")) return [];
  const direct = isDirect(channel);
  const senderName = textOf(user.name) ?? textOf(user.username);
  return [
    {
      eventId: `action:${textOf(payload.trigger_id) ?? contentId(payload)}`,
      ...whereOf(channel, direct),
      senderId,
      ...(senderName !== undefined && { senderName }),
      text: command,
      mentioned: true,
      ...threadOf(
        textOf(container.thread_ts) ?? textOf(message.thread_ts),
        textOf(container.message_ts) ?? textOf(message.ts),
        direct,
      ),
    },
  ];
}

/**
 * A slash command that the app registered at Slack; typed into the message box, no other kind of event carries it.
 * Source: https://docs.slack.dev/interactivity/implementing-slash-commands
 */
export function parseCommand(form: URLSearchParams): InboundMessage[] {
  const [command, channel, senderId] = [form.get("command"), form.get("channel_id"), form.get("user_id")];
  if (!command?.startsWith("/") || !channel || !senderId) return [];
  const senderName = form.get("user_name");
  return [
    {
      eventId: `command:${form.get("trigger_id") ?? contentId(form.toString())}`,
      ...whereOf(channel, isDirect(channel)),
      senderId,
      ...(senderName && { senderName }),
      text: `${command} ${form.get("text") ?? ""}`.trim(),
      mentioned: true,
    },
  ];
}
