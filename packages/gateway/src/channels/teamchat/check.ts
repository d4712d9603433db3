import { below, exchange, jsonOf } from "../support/exchange.ts";

/** Slack's verdict on a token; `refused` is a user-facing message. */
export type TokenCheck = { ok: true } | { refused: string } | { unreachable: true };

/** The Web API's address without a slash at its end. */
export const apiRoot = ({ apiBaseUrl }: { apiBaseUrl?: string | undefined }): string =>
  (apiBaseUrl ?? "https://slack.com/api").replace(/(?<!\/)\/+$/, "");

/** Errors of `auth.test` that are about the moment, not about the token. */
const PASSING = new Set([
  "ratelimited",
  "request_timeout",
  "service_unavailable",
  "internal_error",
  "fatal_error",
  "team_added_to_org",
]);

const refusal = (error: string) => ({
  refused:
    `Slack refused the bot token (${error}): copy the Bot User OAuth Token (xoxb-…) from the app's page ` +
    "OAuth & Permissions.",
});

/** Asks Slack whether the bot token is valid. Never rejects; limit it with `signal`. */
export async function checkToken(
  settings: { botToken?: string | undefined; apiBaseUrl?: string | undefined },
  signal: AbortSignal,
): Promise<TokenCheck> {
  // It becomes a header.
  if (!settings.botToken || !/^[\x21-\x7e]+$/.test(settings.botToken)) return refusal("invalid_auth");
  try {
    const answer = await exchange(below(apiRoot(settings), "auth.test"), {
      method: "POST",
      headers: { authorization: `Bearer ${settings.botToken}` },
      signal,
    });
    const body = jsonOf(answer);
    if (body?.ok === true) return { ok: true };
    const error = body?.error;
    const known = typeof error === "string" && /^[a-z][a-z_]{0,60}$/.test(error);
    if (known && !PASSING.has(error)) return refusal(error);
    return answer.status === 401 || answer.status === 403 ? refusal("invalid_auth") : { unreachable: true };
  } catch {
    return { unreachable: true };
  }
}
