import type { TurnEnd } from "../../lib/turn-ends.ts";
import type { Content, InboundMessage, Target } from "../types.ts";
import type { IntakeDeps } from "./ports.ts";

const INTERRUPTED = "(The answer was interrupted.)";
const TOOK_TOO_LONG = "(The answer took too long and was interrupted.)";
/** Appended after a crash in the middle of a reply, behind the text so far. */
export const CUT_OFF = "(The answer was interrupted by a restart.)";

/** Where the reply to a message goes. */
export function targetOf(message: InboundMessage, receivedAt: number): Target {
  return {
    chatId: message.chatId,
    reply: message.reply ?? {},
    ...(message.messageId !== undefined && { messageId: message.messageId }),
    receivedAt,
  };
}

const joined = (...parts: string[]) => parts.filter((part) => part.trim() !== "").join("\n\n");

/** What a finished turn says in the chat. */
export function replyText({ result, reason }: TurnEnd): string {
  switch (result.status) {
    case "done":
      return result.text;
    case "interrupted":
      if (reason === "shutdown") return joined(result.text, CUT_OFF);
      return result.text.trim() === "" ? "" : joined(result.text, INTERRUPTED);
    case "timeout":
      return joined(result.text, result.error ?? TOOK_TOO_LONG);
    case "failed":
      return joined(result.text, result.error ?? "The agent failed.");
    default:
      return result.status satisfies never;
  }
}

/** Splits a reply into messages that the provider accepts: text first, then images and files. */
export function replyContents(
  deps: Pick<IntakeDeps, "split" | "attachment">,
  place: { agentId: string; channel: Parameters<IntakeDeps["split"]>[0] },
  text: string,
  result?: Pick<TurnEnd["result"], "attachments" | "files">,
): Content[] {
  return [
    ...deps.split(place.channel, text).map((part): Content => ({ kind: "text", text: part })),
    // Other files are among `files`, with their names.
    ...(result?.attachments ?? [])
      .filter(({ type }) => type === "image")
      .map(({ url }) => deps.attachment(place.agentId, url)),
    ...(result?.files ?? []).map((file): Content => ({ kind: "file", ...file })),
  ];
}
