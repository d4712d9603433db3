import type { TokenCounts } from "../runtimes/index.ts";

/** Per million tokens; what the provider's cache holds or takes costs as much as other input, unless it is given. */
export interface Price {
  input: number;
  output: number;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
}
/** By model id, or by its beginning and `*`. */
export type Prices = Readonly<Record<string, Price>>;

const price = (input: number, output: number, cacheRead: number, cacheWrite = input): Price => ({
  input,
  output,
  cacheRead,
  cacheWrite,
});

/** List prices of providers in US dollars, for models whose price is not configured. */
export const BUILT_IN_PRICES: Prices = {
  "claude-opus-4-2*": price(15, 75, 1.5, 18.75),
  "claude-opus-4-0*": price(15, 75, 1.5, 18.75),
  "claude-opus-4-1*": price(15, 75, 1.5, 18.75),
  "claude-opus-4-5*": price(5, 25, 0.5, 6.25),
  "claude-sonnet-4*": price(3, 15, 0.3, 3.75),
  "claude-haiku-4-5*": price(1, 5, 0.1, 1.25),
  "gpt-4.1*": price(2, 8, 0.5),
  "gpt-4.1-mini*": price(0.4, 1.6, 0.1),
  "gpt-4.1-nano*": price(0.1, 0.4, 0.025),
  "gpt-4o*": price(2.5, 10, 1.25),
  "gpt-4o-mini*": price(0.15, 0.6, 0.075),
  "gpt-5": price(1.25, 10, 0.125),
  "gpt-5-2*": price(1.25, 10, 0.125),
  "gpt-5-mini*": price(0.25, 2, 0.025),
  "gpt-5-nano*": price(0.05, 0.4, 0.005),
};

/** The price of a model: of the entries that fit, the longest. */
export function priceOf(prices: Prices, model: string): Price | undefined {
  if (Object.hasOwn(prices, model)) return prices[model];
  let best: string | undefined;
  for (const key of Object.keys(prices)) {
    const fits = key.endsWith("*") && model.startsWith(key.slice(0, -1));
    if (fits && key.length > (best?.length ?? 0)) best = key;
  }
  return best === undefined ? undefined : prices[best];
}

/** In units of the price's currency. */
export function costOf(tokens: TokenCounts, { input, output, cacheRead, cacheWrite }: Price): number {
  const millionths =
    tokens.inputTokens * input +
    tokens.outputTokens * output +
    tokens.cacheReadTokens * (cacheRead ?? input) +
    tokens.cacheWriteTokens * (cacheWrite ?? input);
  return millionths / 1e6;
}
