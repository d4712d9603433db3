import { createHash } from "node:crypto";
import { plainOf, render } from "../render/index.ts";
import { outcomeOfStatus, outcomeOfThrown } from "../support/outcome.ts";
import { openOutgoing } from "../support/outgoing-file.ts";
import { objectOf } from "../support/payload.ts";
import type { Button, Content, Outgoing, SendOutcome } from "../types.ts";
import { TOKEN_REFUSED } from "./check.ts";
import { isId, isSnowflake } from "./parse.ts";
import type { Api, Result } from "./rest.ts";

/** https://docs.discord.com/developers/components/reference */
const ROW = 1;
const BUTTON = 2;
const SECONDARY = 2;
const MAX_ROWS = 5;
const BUTTONS_PER_ROW = 5;
const MAX_LABEL = 80;
const MAX_CUSTOM_ID = 100;
/** https://docs.discord.com/developers/resources/message#create-message */
const MAX_NONCE = 25;

/** https://docs.discord.com/developers/topics/opcodes-and-status-codes#json-json-error-codes */
const REASONS: Readonly<Record<number, string>> = {
  10003: "The channel no longer exists, or the bot cannot see it.",
  10008: "The message no longer exists.",
  20026: "Discord restricts this bot until it is verified.",
  40005: "The file is larger than Discord allows.",
  50001: "The bot cannot see the channel.",
  50007: "Discord does not let the bot write to this user, who may have closed direct messages.",
  50013: "The bot may not write in this channel.",
  50083: "The thread is archived.",
  160005: "The thread is locked.",
};
/** The bot may write, but not read what was written before: it cannot quote. */
const NO_HISTORY = 160002;

/** Nobody is notified by what an agent writes, but whom it answers. */
const ALLOWED_MENTIONS = { parse: [], replied_user: true };

type Payload = Record<string, unknown>;

/** What became of one attempt at a message. */
export async function send(api: Api, outgoing: Outgoing, signal: AbortSignal): Promise<SendOutcome> {
  const { target, content, replaces, begin } = outgoing;
  if (!isId(target.chatId)) return { status: "failed", reason: "There is no such channel." };
  const shown = content.kind === "text" ? textPayload(content) : { content: content.caption ?? "" };
  if (isId(replaces) && content.kind === "text") {
    const path = `/channels/${target.chatId}/messages/${replaces}` as const;
    const body = { components: [], ...shown, allowed_mentions: ALLOWED_MENTIONS };
    return outcomeOf(await api.call("PATCH", path, { body, signal, begin }));
  }
  const payload = {
    ...shown,
    allowed_mentions: ALLOWED_MENTIONS,
    nonce: nonceOf(outgoing.key),
    enforce_nonce: true,
  };
  const quoted = typeof target.reply.guild === "string" ? target.messageId : undefined;
  const reference = isSnowflake(quoted)
    ? { message_reference: { message_id: quoted, fail_if_not_exists: false } }
    : {};
  const result = await post(api, outgoing, { ...payload, ...reference }, signal);
  const again = result?.kind === "refused" && result.code === NO_HISTORY && quoted !== undefined;
  return outcomeOf(again ? await post(api, outgoing, payload, signal) : result);
}

/** Undefined when the file does not exist. */
async function post(
  api: Api,
  { target, content, begin }: Outgoing,
  payload: Payload,
  signal: AbortSignal,
): Promise<Result | undefined> {
  const path = `/channels/${target.chatId}/messages` as const;
  if (content.kind === "text") return api.call("POST", path, { body: payload, signal, begin });
  await using opened = await openOutgoing(content.path);
  if (!opened) return undefined;
  const form = new FormData();
  const attachments = [{ id: 0, filename: content.name }];
  form.append("payload_json", JSON.stringify({ ...payload, attachments }));
  form.append("files[0]", await opened.blob(content.mime), content.name);
  return await api.call("POST", path, { form, signal, begin });
}

/** What Discord shows of a text and its buttons. */
export function textPayload(content: Content & { kind: "text" }): Payload {
  const { text, plain, buttons } = content;
  return {
    content: plain ? plainOf(text) : render("guildchat", text),
    ...(buttons && buttons.length > 0 && { components: rowsOf(buttons) }),
  };
}

function rowsOf(buttons: readonly Button[]): Payload[] {
  const fitting = buttons
    .filter(({ label, command }) => label !== "" && command.length <= MAX_CUSTOM_ID)
    .slice(0, MAX_ROWS * BUTTONS_PER_ROW);
  const rows: Payload[] = [];
  for (let from = 0; from < fitting.length; from += BUTTONS_PER_ROW) {
    const components = fitting.slice(from, from + BUTTONS_PER_ROW).map(({ label, command }) => ({
      type: BUTTON,
      style: SECONDARY,
      label: [...label].slice(0, MAX_LABEL).join(""),
      custom_id: command,
    }));
    rows.push({ type: ROW, components });
  }
  return rows;
}

/** The same for every attempt at a message: Discord then takes it once within some minutes. */
const nonceOf = (key: string) => createHash("sha256").update(key).digest("base64url").slice(0, MAX_NONCE);

function outcomeOf(result: Result | undefined): SendOutcome {
  if (!result) return { status: "failed", reason: "The file no longer exists." };
  switch (result.kind) {
    case "done": {
      const { id } = objectOf(result.body);
      return { status: "sent", ...(isId(id) && { messageId: id }) };
    }
    case "limited":
      return { status: "retry", reason: "Discord's rate limit is reached.", afterMs: result.afterMs };
    case "refused":
      return outcomeOfStatus(result.status, reasonOf(result), result.afterMs);
    case "broken":
      return outcomeOfThrown(result.error);
    default:
      return result satisfies never;
  }
}

function reasonOf({ status, code, said }: Result & { kind: "refused" }): string {
  if (status === 401) return TOKEN_REFUSED;
  const known = code === undefined ? undefined : REASONS[code];
  return known ?? `Discord answered ${status}${code ? ` (code ${code})` : ""}${said ? `: ${said}` : "."}`;
}
