import type { LanguageModelUsage } from "ai";
import { anyTokens, tokensIn } from "../../token-counts.ts";
import type { ModelUse } from "../../types.ts";

/** What the AI SDK reports of one model call. */
export type CallUse = Pick<LanguageModelUsage, "inputTokens" | "outputTokens"> & {
  inputTokenDetails?: Partial<LanguageModelUsage["inputTokenDetails"]>;
};

/** What one model call used; undefined when its provider reports nothing. The SDK's `inputTokens` includes the cache. */
export function useOf(model: string, { inputTokens, outputTokens, inputTokenDetails: of }: CallUse) {
  const cacheReadTokens = tokensIn(of?.cacheReadTokens) ?? 0;
  const cacheWriteTokens = tokensIn(of?.cacheWriteTokens) ?? 0;
  const uncached = (tokensIn(inputTokens) ?? 0) - cacheReadTokens - cacheWriteTokens;
  const use: ModelUse = {
    model,
    inputTokens: tokensIn(of?.noCacheTokens) ?? Math.max(0, uncached),
    outputTokens: tokensIn(outputTokens) ?? 0,
    cacheReadTokens,
    cacheWriteTokens,
  };
  return anyTokens(use) ? use : undefined;
}
