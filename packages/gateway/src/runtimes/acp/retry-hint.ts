/** What an agent's output says about a failing model API. */
export interface RetryHint {
  attempt?: number;
  of?: number;
  /** HTTP status. */
  status?: number;
}

/** Longer lines are dumps; what matters stands at their beginning. */
const MAX_LINE_CHARS = 500;
const MAX_LINES = 50;

const RETRYING = /\b(?:retry|retrying|retries|reconnecting|attempt)\b/i;
const TROUBLE =
  /\b(?:error|failed|failure|status|rate limit|rate-limited|quota|overloaded|unauthorized|too many requests)\b/i;
const STATUS = /(?:^|[^\d.:])(401|402|403|408|429|5\d\d)(?!\d|\.\d)/;
const COUNT = /\b(?:attempt|retry|retrying|reconnecting)[ .:#(]{1,5}(\d{1,3})(?:(?: ?\/ ?| of )(\d{1,3}))?/i;

/**
 * Finds out from an agent's log whether it is asking its model again. Heuristic: agents say it each in their own way, and
 * the protocol has no word for it.
 */
export function readRetryHint(text: string): RetryHint | undefined {
  for (const whole of text.split("\n", MAX_LINES)) {
    const line = whole.slice(0, MAX_LINE_CHARS);
    const [, status] = STATUS.exec(line) ?? [];
    const [, attempt, of] = COUNT.exec(line) ?? [];
    const retrying =
      RETRYING.test(line) && (attempt !== undefined || status !== undefined || TROUBLE.test(line));
    if (!retrying && !(status !== undefined && TROUBLE.test(line))) continue;
    return {
      ...(attempt !== undefined && { attempt: Number(attempt) }),
      ...(of !== undefined && { of: Number(of) }),
      ...(status !== undefined && { status: Number(status) }),
    };
  }
  return undefined;
}
