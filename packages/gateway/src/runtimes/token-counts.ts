import type { TokenCounts } from "./types.ts";

export const NO_TOKENS: TokenCounts = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};

/** More tokens than any turn uses; keeps sums exact, whatever a program claims. */
const MAX_TOKENS = 1e12;
/** US dollars; more than any turn costs. */
const MAX_COST = 10_000;

/** A count that a program reported; undefined for what is none. */
export const tokensIn = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 ? Math.min(MAX_TOKENS, Math.round(value)) : undefined;

/** An amount that a program reported; undefined for what is none. */
export const costIn = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 ? Math.min(MAX_COST, value) : undefined;

/** Counts made from each pair of counts. */
export function mapTokens(
  a: TokenCounts,
  b: TokenCounts,
  map: (one: number, other: number) => number,
): TokenCounts {
  return {
    inputTokens: map(a.inputTokens, b.inputTokens),
    outputTokens: map(a.outputTokens, b.outputTokens),
    cacheReadTokens: map(a.cacheReadTokens, b.cacheReadTokens),
    cacheWriteTokens: map(a.cacheWriteTokens, b.cacheWriteTokens),
  };
}

export const addTokens = (a: TokenCounts, b: TokenCounts) =>
  mapTokens(a, b, (one, other) => Math.min(MAX_TOKENS, one + other));

export const anyTokens = (counts: TokenCounts) => Object.values(counts).some((count) => count > 0);

/** Whether no count of `a` is below that of `b`. */
export const coversTokens = (a: TokenCounts, b: TokenCounts) =>
  Object.values(mapTokens(a, b, (one, other) => Math.min(0, one - other))).every((below) => below === 0);
