import { objectOf, parseJson, textOf } from "../support/payload.ts";
import { hmacSha256, oneHeader, sameHex } from "../support/signature.ts";
import type { WebhookChannel, WebhookRequest, WebhookVerdict } from "../types.ts";
import { parseAction, parseCommand, parseEvent } from "./parse.ts";

/** Requests whose time differs by more are replays, or come from a clock that is wrong. */
const WINDOW_S = 300;
const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const OK = { status: 200, json: { ok: true } } as const;
const NOT_JSON: WebhookVerdict = { status: 400, error: "The body is not valid JSON." };

/** Why a request is not Slack's, or undefined. */
function refusal(
  { headers, body }: WebhookRequest,
  secret: string | undefined,
  now: number,
): string | undefined {
  const signature = oneHeader(headers, "x-teamchat-signature", "x-slack-signature");
  const time = oneHeader(headers, "x-teamchat-request-timestamp", "x-slack-request-timestamp");
  if (!secret || signature === undefined || time === undefined)
    return "The signature or its time is missing.";
  if (!/^\d{1,12}$/.test(time) || Math.abs(Math.floor(now / 1000) - Number(time)) > WINDOW_S) {
    return "The time of the request is off by more than five minutes.";
  }
  const right =
    signature.startsWith("v0=") && sameHex(signature.slice(3), hmacSha256(secret, `v0:${time}:`, body));
  return right ? undefined : "The signature is wrong.";
}

/** Buttons and slash commands come as forms. */
function handleForm(body: Buffer): WebhookVerdict {
  const form = new URLSearchParams(body.toString("utf8"));
  const payload = form.get("payload");
  if (payload === null) {
    // Slack shows the user whatever the answer to a slash command says, so it says nothing.
    return { status: 200, text: "", messages: parseCommand(form) };
  }
  const action = parseJson(Buffer.from(payload));
  return action === undefined ? NOT_JSON : { ...OK, messages: parseAction(objectOf(action)) };
}

/**
 * Slack's events: hex HMAC-SHA256 of `v0:<time>:<body>` in `x-slack-signature`.
 * Source: https://docs.slack.dev/authentication/verifying-requests-from-slack
 */
export const webhook: WebhookChannel = {
  enabled: ({ teamchat }) => Boolean(teamchat?.enabled && teamchat.signingSecret),
  handle(request, { teamchat }, now) {
    const error = refusal(request, teamchat?.signingSecret, now);
    if (error !== undefined) return { status: 401, error };
    if (FORM.test(oneHeader(request.headers, "content-type") ?? "")) return handleForm(request.body);
    const value = parseJson(request.body);
    if (value === undefined) return NOT_JSON;
    const body = objectOf(value);
    if (body.type === "url_verification") {
      const challenge = textOf(body.challenge);
      return challenge === undefined ? OK : { status: 200, json: { challenge } };
    }
    return { ...OK, messages: parseEvent(body, teamchat?.requireMention ?? true) };
  },
};
