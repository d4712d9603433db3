import { ErrorCode } from "@slack/web-api";
import { outcomeOfStatus, outcomeOfThrown, retryAfterMs } from "../support/outcome.ts";
import type { SendOutcome } from "../types.ts";

/**
 * Errors of Slack's own that a user can do something about.
 * Source: https://docs.slack.dev/reference/methods/chat.postMessage#errors
 */
const SENTENCES: Readonly<Record<string, string>> = {
  channel_not_found:
    "Slack does not know this channel, or the bot may not see it: invite the bot to the channel.",
  not_in_channel: "The bot is not in this channel: invite it to the channel.",
  is_archived: "The channel is archived.",
  restricted_action: "A setting of the workspace keeps the bot from posting here.",
  restricted_action_read_only_channel: "The channel is read-only.",
  invalid_auth: "Slack refused the bot token: check teamchat.botToken.",
  not_authed: "Slack got no bot token: check teamchat.botToken.",
  token_revoked: "The bot token was revoked: install the app again and set teamchat.botToken.",
  token_expired: "The bot token has expired: install the app again and set teamchat.botToken.",
  account_inactive: "The bot was removed from the workspace: install the app again.",
  org_login_required: "The workspace is being moved; Slack accepts no messages meanwhile.",
  ekm_access_denied: "The workspace's administrators have suspended posting.",
  msg_too_long: "The message is too long for Slack.",
  no_text: "The message is empty.",
  missing_scope:
    "The app lacks a permission: add the scope chat:write (files:write for files) and install it again.",
  cannot_reply_to_message: "This message cannot be answered in a thread.",
  messages_tab_disabled: "The app's Messages tab is off: turn it on under App Home.",
  file_upload_size_restricted: "The file is too large for this workspace.",
  file_uploads_disabled: "Uploading files is turned off in this workspace.",
  storage_limit_reached: "The workspace has no room for more files.",
};
/** Slack certainly did nothing. */
const AGAIN = new Set([
  "ratelimited",
  "rate_limited",
  "service_unavailable",
  "request_timeout",
  "team_added_to_org",
]);
/** For these, Slack itself says that part of the operation may have succeeded. */
const UNCERTAIN = new Set(["internal_error", "fatal_error"]);
const MARKUP = new Set(["invalid_blocks", "invalid_blocks_format", "invalid_arguments", "block_mismatch"]);
const CODE = /^[a-z][a-z0-9_]{0,80}$/;

/** Outcome of a call that the library rejected. */
export function outcomeOfError(error: unknown, now: number): SendOutcome {
  const { code, data, statusCode, headers, retryAfter } = (error ?? {}) as {
    code?: unknown;
    data?: { error?: unknown };
    statusCode?: number;
    headers?: Record<string, string>;
    retryAfter?: number;
  };
  switch (code) {
    case ErrorCode.PlatformError:
      return outcomeOfCode(data?.error);
    case ErrorCode.RateLimitedError:
      return outcomeOfStatus(429, "Slack's rate limit is reached.", (retryAfter ?? 0) * 1000);
    case ErrorCode.HTTPError:
      return outcomeOfStatus(
        statusCode ?? 500,
        `Slack answered ${statusCode ?? "with an error"}.`,
        retryAfterMs(headers?.["retry-after"], now),
      );
    default:
      return outcomeOfThrown(error);
  }
}

function outcomeOfCode(error: unknown): SendOutcome {
  // An answer that is no JSON, or was cut, comes as the "error" too.
  if (typeof error !== "string" || !CODE.test(error)) {
    return { status: "unknown", reason: "Could not read Slack's response." };
  }
  if (AGAIN.has(error))
    return { status: "retry", reason: `Slack could not accept the message right now (${error}).` };
  if (UNCERTAIN.has(error)) {
    return {
      status: "unknown",
      reason: `Slack failed (${error}) and may have posted the message.`,
    };
  }
  if (MARKUP.has(error))
    return { status: "markup", reason: `Slack refused the message's format (${error}).` };
  return { status: "failed", reason: SENTENCES[error] ?? `Slack refused the message (${error}).` };
}

/** Slack's own code of a refusal; undefined for every other error. */
export function platformError(error: unknown): string | undefined {
  const { code, data } = (error ?? {}) as { code?: unknown; data?: { error?: unknown } };
  return code === ErrorCode.PlatformError && typeof data?.error === "string" ? data.error : undefined;
}
