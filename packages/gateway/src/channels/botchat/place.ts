import { GrammyError } from "grammy/web";
import type { SendOutcome, Target } from "../types.ts";
import type { CallSignal } from "./api.ts";
import { replyPlace } from "./parse.ts";

/** Where a call goes; parts that Telegram refuses are removed. */
export interface Place {
  chat_id: string;
  message_thread_id?: number;
  reply_parameters?: { message_id: number; allow_sending_without_reply: true };
}

/** One call to Telegram; resolves to its result. */
export type Call = (place: Place, signal: CallSignal) => Promise<unknown>;

/** What {@link attempt} does, bound to a message. */
export type Deliver = (call: Call) => Promise<SendOutcome>;

/** Places of one message that are tried at most: each after a definite refusal. */
const MAX_TRIES = 4;

/** Runs a call at the message's place, then at its fallbacks. Rejects with Telegram's or the network's error. */
export async function attempt(
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

/** Where the reply to a message goes: its chat and topic, in groups as a reply to it. */
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
