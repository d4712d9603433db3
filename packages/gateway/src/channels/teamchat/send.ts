import type { Clock } from "../../lib/clock.ts";
import { escapeText } from "../../lib/xml.ts";
import { plainOf, render } from "../render/index.ts";
import { deadline } from "../support/exchange.ts";
import { SEND_TIMEOUT_MS } from "../support/outcome.ts";
import type { Content, Outgoing, SendOutcome, Target } from "../types.ts";
import { blocksOf, commandLines } from "./blocks.ts";
import { type Client, clientFor, type Settings } from "./client.ts";
import { outcomeOfError } from "./errors.ts";
import { sendFile } from "./files.ts";
import { threadOf } from "./thread.ts";

type Text = Extract<Content, { kind: "text" }>;

/** What of a message is the same whether it is posted or changed. */
function bodyOf({ text, plain, buttons = [] }: Text) {
  // Without markup the brackets of mentions and links still mean something, unless they are escaped.
  if (plain) {
    const lines = buttons.length > 0 ? `\n${commandLines(buttons)}` : "";
    return { text: escapeText(plainOf(text) + lines), mrkdwn: false };
  }
  const mrkdwn = render("teamchat", text);
  const blocks = buttons.length > 0 ? blocksOf(mrkdwn, buttons) : undefined;
  return { text: mrkdwn, ...(blocks && { blocks }) };
}

async function post(client: Client, target: Target, content: Text): Promise<SendOutcome> {
  const { ts } = await client.chat.postMessage({
    channel: target.chatId,
    ...bodyOf(content),
    ...threadOf(target),
    unfurl_links: false,
    unfurl_media: false,
  });
  return { status: "sent", ...(ts !== undefined && { messageId: ts }) };
}

/** Takes the place of a message. */
export async function change(
  client: Client,
  chatId: string,
  ts: string,
  content: Text,
): Promise<SendOutcome> {
  await client.chat.update({ channel: chatId, ts, ...bodyOf(content) });
  return { status: "sent", messageId: ts };
}

/** One attempt. */
export async function send(
  settings: Settings,
  clock: Clock,
  { target, content, replaces, begin }: Outgoing,
  parent: AbortSignal,
): Promise<SendOutcome> {
  const { signal, end } = deadline(clock, SEND_TIMEOUT_MS, parent);
  const client = clientFor(settings, signal, begin);
  try {
    if (content.kind === "file") {
      return await sendFile(
        { quiet: clientFor(settings, signal), client },
        target,
        content,
        signal,
        clock.now(),
      );
    }
    if (replaces === undefined) return await post(client, target, content);
    return await change(client, target.chatId, replaces, content);
  } catch (error) {
    return outcomeOfError(error, clock.now());
  } finally {
    end();
  }
}
