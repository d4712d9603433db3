import { GrammyError, HttpError } from "grammy/web";
import { outcomeOfStatus, outcomeOfThrown } from "../support/outcome.ts";
import type { SendOutcome } from "../types.ts";
import { PROVIDER, waitOf } from "./api.ts";

/** True when Telegram rejected the request as bad, with such words. */
export function refused(error: unknown, words: RegExp): boolean {
  return (
    error instanceof GrammyError &&
    (error.error_code === 400 || error.error_code === 413) &&
    words.test(error.description)
  );
}

/** Outcome of a call that threw. */
export function outcomeOf(error: unknown): SendOutcome {
  if (!(error instanceof GrammyError)) {
    return outcomeOfThrown(error instanceof HttpError ? error.error : error);
  }
  const { error_code: code, description } = error;
  if (code < 300) {
    return {
      status: "unknown",
      reason: `${PROVIDER} returned an unexpected response (${code}).`,
    };
  }
  if (refused(error, MARKUP)) return { status: "markup", reason: `${PROVIDER} refused the markup.` };
  const reason = `${PROVIDER} answered ${code}${description ? `: ${description.slice(0, 300)}` : "."}`;
  return outcomeOfStatus(code, reason, waitOf(error));
}

/** "can't parse entities: …", and what it says of single ones. */
export const MARKUP = /can't parse (?:entities|message)|unsupported start tag|ENTITY_/i;
