import { parseJson } from "../support/payload.ts";
import { oneHeader, sameSecret } from "../support/signature.ts";
import type { InboundMessage, WebhookChannel } from "../types.ts";
import { botOf, numberedBy, sourceOf } from "./identity.ts";
import { parseUpdate } from "./parse.ts";

/** Telegram's webhooks: no signature, but a secret that the gateway chose and every request repeats. */
export const webhook: WebhookChannel = {
  enabled: ({ botchat }) =>
    Boolean(botchat?.enabled && botchat.mode === "webhook" && botchat.botToken && botchat.webhookSecret),

  handle({ method, headers, body }, { botchat }) {
    const given = oneHeader(headers, "x-telegram-bot-api-secret-token");
    const { webhookSecret, botToken } = botchat ?? {};
    if (!webhookSecret || !botToken || given === undefined || !sameSecret(given, webhookSecret)) {
      return { status: 401, error: "The secret token is missing or wrong." };
    }
    if (method === "GET") return { status: 200, json: { ok: true } };
    const update = parseJson(body);
    if (update === undefined) return { status: 400, error: "The body is not valid JSON." };
    const bot = botOf(botToken);
    const parsed = parseUpdate(update, bot);
    // Anything but 2xx makes Telegram send it again.
    if (parsed.kind === "unready") return { status: 400, error: "The bot is not connected yet; try again." };
    const own = sourceOf(bot, botchat?.apiBaseUrl);
    const messages: InboundMessage[] = parsed.kind === "message" ? [numberedBy(own, parsed.message)] : [];
    return { status: 200, json: { ok: true }, messages };
  },
};
