import type { Clock } from "../../lib/clock.ts";
import { jsonOf } from "../support/exchange.ts";
import { outcomeOfThrown } from "../support/outcome.ts";
import { openOutgoing } from "../support/outgoing-file.ts";
import { textOf } from "../support/payload.ts";
import type { Content, Outgoing, SendOutcome } from "../types.ts";
import type { Api, Settings } from "./api.ts";
import { failureOf, sentId } from "./graph-error.ts";
import { fileMessage, templateMessage, textMessage } from "./messages.ts";

/** How long after the user's latest message free text is accepted. */
const WINDOW_MS = 24 * 60 * 60_000;

export interface SenderDeps {
  api: Api;
  settings: Settings;
  clock: Clock;
}

/** One attempt at a text or a file; a template once the provider accepts no free text any more. */
export function createSender({ api, settings, clock }: SenderDeps) {
  const post = async ({ target, key, begin }: Outgoing, message: object, signal: AbortSignal) => {
    // Who answers by quoting is answered the same way.
    const quotes = target.reply.quoted !== undefined && target.messageId !== undefined;
    const body = {
      recipient_type: "individual",
      to: target.chatId,
      // Comes back with each status, and so tells of a send whose answer was lost.
      biz_opaque_callback_data: key,
      ...(quotes && { context: { message_id: target.messageId } }),
      ...message,
    };
    const answer = await api.message(body, signal, { begin });
    const failure = failureOf(answer, clock.now());
    if (failure) return failure;
    const messageId = sentId(answer);
    const outcome: SendOutcome = { status: "sent", ...(messageId !== undefined && { messageId }) };
    return { windowClosed: false, outcome };
  };

  const sendText = async (
    outgoing: Outgoing,
    content: Extract<Content, { kind: "text" }>,
    signal: AbortSignal,
  ): Promise<SendOutcome> => {
    const template = templateMessage(content.text, settings);
    const { target } = outgoing;
    const late = target.receivedAt > 0 && clock.now() - target.receivedAt > WINDOW_MS;
    // The provider often accepts a late text and drops it afterwards.
    if (template && late) return (await post(outgoing, template, signal)).outcome;
    const { windowClosed, outcome } = await post(outgoing, textMessage(content), signal);
    return windowClosed && template ? (await post(outgoing, template, signal)).outcome : outcome;
  };

  const upload = async (
    content: Extract<Content, { kind: "file" }>,
    signal: AbortSignal,
  ): Promise<{ id: string; bytes: number } | SendOutcome> => {
    await using opened = await openOutgoing(content.path);
    if (!opened) return { status: "failed", reason: "The file no longer exists." };
    try {
      const file = await opened.blob(content.mime);
      const answer = await api.upload(file, content.name, signal);
      const failure = failureOf(answer, clock.now());
      if (failure) return failure.outcome;
      const id = textOf(jsonOf(answer)?.id);
      return id === undefined
        ? { status: "retry", reason: "WhatsApp accepted the file but returned no id." }
        : { id, bytes: file.size };
    } catch (error) {
      // No one sees a file that was uploaded but not sent.
      return { status: "retry", reason: outcomeOfThrown(error).status === "retry" ? UNREACHED : UNFINISHED };
    }
  };

  return async (outgoing: Outgoing, signal: AbortSignal): Promise<SendOutcome> => {
    const { content, replaces } = outgoing;
    if (replaces !== undefined) return { status: "failed", reason: "WhatsApp cannot change a message." };
    try {
      if (content.kind === "text") return await sendText(outgoing, content, signal);
      const uploaded = await upload(content, signal);
      if ("status" in uploaded) return uploaded;
      return (await post(outgoing, fileMessage(content, uploaded.id, uploaded.bytes), signal)).outcome;
    } catch (error) {
      return outcomeOfThrown(error);
    }
  };
}

const UNREACHED = "WhatsApp could not be reached.";
const UNFINISHED = "The connection was lost while the file was being uploaded.";
