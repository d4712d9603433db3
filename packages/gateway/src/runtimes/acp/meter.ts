import { type Fields, isFields } from "../agent-cli/index.ts";
import { anyTokens, costIn, tokensIn } from "../token-counts.ts";
import type { TurnUse } from "../types.ts";

/**
 * Finds what each turn of one session used: tokens from the answer to its prompt, and the growth of the session's cost,
 * which agents report as a sum. Other currencies than US dollars are not converted.
 * @param resumed the session is an earlier one, whose cost so far is unknown
 */
export function createMeter(resumed: boolean) {
  /** The session's cost at the end of the latest turn; undefined while unknown. */
  let before: number | undefined = resumed ? undefined : 0;
  let now: number | undefined;

  return {
    /** Takes each `session/update`. */
    saw({ sessionUpdate, cost }: Fields): void {
      if (sessionUpdate !== "usage_update" || !isFields(cost) || cost.currency !== "USD") return;
      now = costIn(cost.amount) ?? now;
    },
    /** To be called before each turn: what a resumed session has cost may have been repeated by then. */
    begin(): void {
      before ??= now;
    },
    /** What the turn used, given the answer to its prompt. Undefined when nothing was reported. */
    end(answer: Fields | null, model: string | undefined): TurnUse | undefined {
      const grown = now !== undefined && before !== undefined && now > before ? now - before : undefined;
      before = now ?? before;
      const counts = countsOf(answer?.usage);
      if (!counts && grown === undefined) return undefined;
      return {
        models: counts ? [{ model, ...counts }] : [],
        ...(grown !== undefined && { cost: grown }),
      };
    },
  };
}
export type Meter = ReturnType<typeof createMeter>;

function countsOf(usage: unknown) {
  if (!isFields(usage)) return undefined;
  const counts = {
    inputTokens: tokensIn(usage.inputTokens) ?? 0,
    outputTokens: tokensIn(usage.outputTokens) ?? 0,
    cacheReadTokens: tokensIn(usage.cachedReadTokens) ?? 0,
    cacheWriteTokens: tokensIn(usage.cachedWriteTokens) ?? 0,
  };
  return anyTokens(counts) ? counts : undefined;
}
