import { type Api, GrammyError, HttpError } from "grammy/web";
import type { Clock } from "../../lib/clock.ts";
import { plainOf, render } from "../render/index.ts";
import { outcomeOfStatus, outcomeOfThrown, SEND_TIMEOUT_MS } from "../support/outcome.ts";
import type { Button, Content, Outgoing, SendOutcome, Target } from "../types.ts";
import { type CallSignal, PROVIDER, waitOf, within } from "./api.ts";
import { sendFile } from "./file.ts";
import { replyPlace } from "./parse.ts";

/** Where a call goes; parts that Telegram refuses are taken away. */
export interface Place {
  chat_id: string;
  message_thread_id?: number;
  reply_parameters?: { message_id: number; allow_sending_without_reply: true };
}

/** One call to Telegram; resolves to its result. */
export type Call = (place: Place, signal: CallSignal) => Promise<unknown>;

export interface SendDeps {
  api: Api;
  clock: Clock;
  /** Groups that became supergroups: the new id by the old one. */
  moved: Map<string, string>;
}

// https://core.telegram.org/bots/api#inlinekeyboardbutton
const MAX_CALLBACK_BYTES = 64;
/** Telegram's limit for the buttons of a message is not documented; it takes a hundred. */
const MAX_BUTTONS = 100;
/** Places of one message that are tried at most: each after a definite refusal. */
const MAX_TRIES = 4;

/** Sends one thing, once. */
export function createSend({ api, clock, moved }: SendDeps) {
  return async ({ target, content, replaces }: Outgoing, parent: AbortSignal): Promise<SendOutcome> => {
    if (parent.aborted) return { status: "retry", reason: "The gateway is stopping." };
    try {
      return await within(clock, SEND_TIMEOUT_MS, parent, (signal) => {
        const deliver = (call: Call) => attempt(call, placeOf(target, moved), moved, signal);
        return content.kind === "file"
          ? sendFile(api, content, deliver)
          : sendText(api, content, replaces, deliver);
      });
    } catch (error) {
      return outcomeOf(error);
    }
  };
}

/** Runs a call where a message belongs, and where it then may go. Rejects with what Telegram or the network said. */
async function attempt(
  call: Call,
  first: Place,
  moved: Map<string, string>,
  signal: CallSignal,
): Promise<SendOutcome> {
  let place = first;
  for (let tries = 1; ; tries++) {
    try {
      return sent(await call(place, signal));
    } catch (error) {
      const next = tries < MAX_TRIES ? elsewhere(error, place, moved) : undefined;
      if (!next) throw error;
      place = next;
    }
  }
}

/** What {@link attempt} does, bound to a message. */
export type Deliver = (call: Call) => Promise<SendOutcome>;

async function sendText(
  api: Api,
  content: Content & { kind: "text" },
  replaces: string | undefined,
  deliver: Deliver,
): Promise<SendOutcome> {
  const message = {
    ...textOf(content.text, content.plain),
    ...keyboard(content.buttons),
    link_preview_options: { is_disabled: true },
  };
  if (replaces === undefined) {
    return deliver((place, signal) => api.raw.sendMessage({ ...place, ...message }, signal));
  }
  try {
    await deliver(({ chat_id }, signal) =>
      api.raw.editMessageText({ chat_id, message_id: Number(replaces), ...message }, signal),
    );
  } catch (error) {
    if (!refused(error, /message is not modified/i)) throw error;
  }
  return { status: "sent", messageId: replaces };
}

/** The fields of a text: HTML, or plain. */
export function textOf(text: string, plain = false): { text: string; parse_mode?: "HTML" } {
  return plain ? { text: plainOf(text) } : { text: render("botchat", text), parse_mode: "HTML" };
}

/** Buttons below each other; those whose command is too long for one are left out. */
function keyboard(buttons: readonly Button[] | undefined) {
  const rows = (buttons ?? [])
    .filter(({ command, label }) => label !== "" && Buffer.byteLength(command) <= MAX_CALLBACK_BYTES)
    .slice(0, MAX_BUTTONS)
    .map(({ label, command }) => [{ text: label, callback_data: command }]);
  return rows.length > 0 ? { reply_markup: { inline_keyboard: rows } } : {};
}

/** Where the answer to a message goes: its chat and topic, in groups as a reply to it. */
export function placeOf({ chatId, reply, messageId }: Target, moved: ReadonlyMap<string, string>): Place {
  const { thread } = replyPlace(reply);
  const to = moved.get(chatId);
  if (to !== undefined) return { chat_id: to };
  const quotes = chatId.startsWith("-") && messageId !== undefined && /^\d+$/.test(messageId);
  return {
    chat_id: chatId,
    ...(thread !== undefined && { message_thread_id: thread }),
    ...(quotes && {
      reply_parameters: { message_id: Number(messageId), allow_sending_without_reply: true },
    }),
  };
}

/** Another place for a message that Telegram refused at this one; undefined when the place is not the reason. */
function elsewhere(error: unknown, place: Place, moved: Map<string, string>): Place | undefined {
  if (!(error instanceof GrammyError) || error.error_code !== 400) return undefined;
  const to = error.parameters.migrate_to_chat_id;
  if (to !== undefined) {
    moved.set(place.chat_id, String(to));
    return { chat_id: String(to) };
  }
  const { message_thread_id, reply_parameters, ...chat } = place;
  if (message_thread_id !== undefined && /thread not found/i.test(error.description)) return chat;
  if (reply_parameters && /(?:replied|reply message) not found/i.test(error.description)) {
    return { ...chat, ...(message_thread_id !== undefined && { message_thread_id }) };
  }
  return undefined;
}

function sent(result: unknown): SendOutcome {
  const id = (result as { message_id?: unknown } | null)?.message_id;
  return { status: "sent", ...(typeof id === "number" && { messageId: String(id) }) };
}

/** True when Telegram answered that the request is bad, in such words. */
export function refused(error: unknown, words: RegExp): boolean {
  return (
    error instanceof GrammyError &&
    (error.error_code === 400 || error.error_code === 413) &&
    words.test(error.description)
  );
}

/** What became of a call that threw. */
export function outcomeOf(error: unknown): SendOutcome {
  if (!(error instanceof GrammyError)) {
    return outcomeOfThrown(error instanceof HttpError ? error.error : error);
  }
  const { error_code: code, description } = error;
  if (code < 300) {
    return {
      status: "unknown",
      reason: `${PROVIDER} answered ${code} with something that is none of its own.`,
    };
  }
  if (refused(error, MARKUP)) return { status: "markup", reason: `${PROVIDER} refused the markup.` };
  const reason = `${PROVIDER} answered ${code}${description ? `: ${description.slice(0, 300)}` : "."}`;
  return outcomeOfStatus(code, reason, waitOf(error));
}

/** "can't parse entities: …", and what it says of single ones. */
export const MARKUP = /can't parse (?:entities|message)|unsupported start tag|ENTITY_/i;
