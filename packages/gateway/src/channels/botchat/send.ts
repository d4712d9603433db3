import type { Api } from "grammy/web";
import type { Clock } from "../../lib/clock.ts";
import { SEND_TIMEOUT_MS } from "../support/outcome.ts";
import type { Content, Outgoing, SendOutcome } from "../types.ts";
import { outcomeOf, refused } from "./answer.ts";
import { type BotApi, within } from "./api.ts";
import { sendFile } from "./file.ts";
import { attempt, type Call, type Deliver, placeOf } from "./place.ts";
import { keyboard, textOf } from "./text.ts";

export interface SendDeps {
  /** The client for one message; see {@link BotApi.sending}. */
  sending: BotApi["sending"];
  clock: Clock;
  /** Groups that became supergroups: the new id by the old one. */
  moved: Map<string, string>;
}

/** Sends one thing, once. */
export function createSend({ sending, clock, moved }: SendDeps) {
  return async (
    { target, content, replaces, begin }: Outgoing,
    parent: AbortSignal,
  ): Promise<SendOutcome> => {
    if (parent.aborted) return { status: "retry", reason: "The gateway is stopping." };
    const api = sending(begin);
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

async function sendText(
  api: Api,
  content: Content & { kind: "text" },
  replaces: string | undefined,
  deliver: Deliver,
): Promise<SendOutcome> {
  const message = {
    ...textOf(content.text, content.plain),
    ...keyboard(content.buttons, content.webApp),
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
