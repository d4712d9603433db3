import { hmacSha256, oneHeader, sameBase64 } from "../support/signature.ts";
import type { WebhookChannel } from "../types.ts";
import { parseEvents } from "./parse.ts";

/**
 * LINE's webhooks: base64 HMAC-SHA256 of the raw body in `x-line-signature`.
 * Source: https://developers.line.biz/en/docs/messaging-api/verify-webhook-signature/
 */
export const webhook: WebhookChannel = {
  enabled: ({ sigchat }) => Boolean(sigchat?.enabled && sigchat.channelSecret),
  greet: ({ method, body }) =>
    method === "GET" || body.length === 0 ? { status: 200, json: { ok: true } } : undefined,
  handle({ headers, body }, { sigchat }) {
    const signature = oneHeader(headers, "x-sigchat-signature", "x-line-signature");
    const secret = sigchat?.channelSecret;
    if (!secret || signature === undefined || !sameBase64(signature, hmacSha256(secret, body))) {
      return { status: 401, error: "The signature is missing or wrong." };
    }
    return { status: 200, json: { ok: true }, messages: parseEvents(body) };
  },
};
