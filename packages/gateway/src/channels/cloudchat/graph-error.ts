import { oneLine } from "../../lib/one-line.ts";
import { jsonOf } from "../support/exchange.ts";
import { type HttpAnswer, outcomeOfStatus, retryAfterMs } from "../support/outcome.ts";
import { numberOf, objectOf, objectsOf, textOf } from "../support/payload.ts";
import type { SendOutcome } from "../types.ts";
import { PROVIDER } from "./api.ts";

/**
 * Codes of the Graph API.
 * Source: https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes
 */
const RATE_LIMITED = new Set([4, 80007, 130429, 131056]);
const TEMPORARY = new Set([1, 2, 131000, 131016, 131057, 133004]);
const BAD_TOKEN = new Set([0, 102, 190]);
const NO_PERMISSION = (code: number) => code === 3 || code === 10 || (code >= 200 && code <= 299);
const USE_TEMPLATES = "Set cloudchat.templatesEnabled and cloudchat.templateName to send a template instead.";
/** What refuses free text alone: only a template may still come through. */
const WINDOW_CLOSED: ReadonlyMap<number, string> = new Map([
  [
    131047,
    `WhatsApp accepts no free text in this chat: the user last wrote more than 24 hours ago. ${USE_TEMPLATES}`,
  ],
  [
    131026,
    `WhatsApp cannot deliver to this number: it has no WhatsApp, or accepts no free text right now. ${USE_TEMPLATES}`,
  ],
]);

const MAX_DETAIL_CHARS = 300;

/** What the provider says of a failed call; undefined when it succeeded. */
export interface GraphFailure {
  /** True when only a template may be sent. */
  windowClosed: boolean;
  outcome: SendOutcome;
}

/** Id of the message that was taken. */
export function sentId(answer: HttpAnswer): string | undefined {
  return textOf(objectsOf(jsonOf(answer)?.messages)[0]?.id);
}

/** Why a complete response is not a success, as a user-facing message; undefined if it is one. */
export function failureOf(answer: HttpAnswer, now: number): GraphFailure | undefined {
  const { status, headers } = answer;
  if (status >= 200 && status < 300) return undefined;
  const error = objectOf(jsonOf(answer)?.error);
  const code = numberOf(error.code) ?? -1;
  const failed = (reason: string): GraphFailure => ({
    windowClosed: false,
    outcome: { status: "failed", reason },
  });
  const closed = WINDOW_CLOSED.get(code);
  if (closed !== undefined) return { windowClosed: true, outcome: { status: "failed", reason: closed } };
  if (BAD_TOKEN.has(code) || status === 401) {
    return failed("WhatsApp refused the token: it is wrong or has expired; check cloudchat.accessToken.");
  }
  if (NO_PERMISSION(code)) {
    return failed("The token may not send for this number: it needs whatsapp_business_messaging.");
  }
  const detail = oneLine(textOf(objectOf(error.error_data).details) ?? error.message, MAX_DETAIL_CHARS);
  const reason = `${PROVIDER} answered ${status}${code >= 0 ? ` (${code})` : ""}${detail ? `: ${detail}` : "."}`;
  const afterMs = retryAfterMs(headers.get("retry-after"), now);
  const again = RATE_LIMITED.has(code) || TEMPORARY.has(code);
  return { windowClosed: false, outcome: outcomeOfStatus(again ? 503 : status, reason, afterMs) };
}
