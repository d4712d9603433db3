import { parseJson } from "../support/payload.ts";
import { hmacSha256, oneHeader, sameHex, sameSecret } from "../support/signature.ts";
import type { WebhookChannel, WebhookVerdict } from "../types.ts";
import { parseDelivery } from "./parse.ts";

const PREFIX = "sha256=";

/** The only value of a query field; undefined when it is missing or given twice. */
function only(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  return values.length === 1 ? values[0] : undefined;
}

/** The handshake in which the provider learns that the address is its owner's. */
function handshake(query: URLSearchParams, verifyToken: string | undefined): WebhookVerdict {
  const token = only(query, "hub.verify_token");
  const challenge = only(query, "hub.challenge");
  const known = only(query, "hub.mode") === "subscribe" && token !== undefined && challenge !== undefined;
  return known && verifyToken && sameSecret(token, verifyToken)
    ? { status: 200, text: challenge }
    : { status: 403, error: "The verify token does not match the configured one." };
}

/**
 * Meta's webhooks: hex HMAC-SHA256 of the raw body in `x-hub-signature-256`.
 * Source: https://developers.facebook.com/docs/graph-api/webhooks/getting-started
 */
export const webhook: WebhookChannel = {
  enabled: ({ cloudchat }) => Boolean(cloudchat?.enabled && cloudchat.appSecret),
  handle({ method, headers, query, body }, { cloudchat }) {
    if (method === "GET") return handshake(query, cloudchat?.verifyToken);
    const signature = oneHeader(headers, "x-hub-signature-256");
    const secret = cloudchat?.appSecret;
    const right =
      secret &&
      signature?.startsWith(PREFIX) &&
      sameHex(signature.slice(PREFIX.length), hmacSha256(secret, body));
    if (!right) return { status: 401, error: "The signature is missing or wrong." };
    const delivery = parseJson(body);
    if (delivery === undefined) return { status: 400, error: "The body is not valid JSON." };
    return { status: 200, json: { ok: true }, ...parseDelivery(delivery, cloudchat?.phoneNumberId) };
  },
};
