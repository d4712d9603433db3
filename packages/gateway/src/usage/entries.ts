import type { ModelUse, TokenCounts, TurnUse } from "../runtimes/index.ts";
import type { UsageEntry } from "../store/index.ts";
import { BUILT_IN_PRICES, costOf, type Prices, priceOf } from "./prices.ts";

/** A turn that has ended, or a compaction. */
export interface EndedTurn {
  requestId: string;
  agentId: string;
  keyId: string | null;
  /** Stored chat id: `api-…`, `botchat-…`. */
  chatId: string;
  session: string;
  /** The model that answered, if known. */
  model: string | undefined;
  /** What the runtime reported. */
  used: TurnUse | undefined;
  /** Characters that went to the agent and came back; for a runtime that reports no tokens. */
  chars: { told: number; said: number };
}

export interface Spend {
  currency: string;
  prices: Prices;
}

const CHARACTERS_PER_TOKEN = 4;
/** Of one currency unit, how many the entries count. */
export const COST_PARTS = 1e9;
/** More than any turn costs; keeps sums exact. */
const MAX_COST = 10_000;
/** Runtimes report amounts in this, and the built-in prices are in it. */
const REPORTED = "USD";

type Counted = Omit<UsageEntry, "requestId" | "at" | "day" | "agentId" | "keyId" | "source" | "session">;

/** What a turn used by model; the model that answered comes first. */
export function countUse({ model, used, chars }: EndedTurn, spend: Spend): Counted[] {
  const reported = byModel(used?.models ?? []);
  const estimated = reported.length === 0;
  const uses: ModelUse[] = estimated ? [{ model, ...estimate(chars) }] : reported;
  uses.sort((a, b) => Number(b.model === model) - Number(a.model === model));
  const whole = spend.currency === REPORTED ? used?.cost : undefined;
  const anyPrice = uses.some((use) => priceFor(use.model, spend) !== undefined);
  return uses.map((use, at) => {
    const { cost: own, model: of, ...tokens } = use;
    const price = priceFor(of, spend);
    const told = spend.currency === REPORTED ? own : undefined;
    // An amount for the whole turn counts where no model has a price, and stands over a price of estimated tokens.
    const total = whole !== undefined && (estimated || !anyPrice) ? (at === 0 ? whole : 0) : undefined;
    const cost = (estimated ? total : undefined) ?? (price ? costOf(tokens, price) : (told ?? total));
    const some = Object.values(tokens).some((count) => count > 0);
    return {
      model: of ?? null,
      turns: at === 0 ? (1 as const) : (0 as const),
      ...tokens,
      cost: Math.round(Math.min(MAX_COST, cost ?? 0) * COST_PARTS),
      estimated: estimated && some,
      unpriced: cost === undefined && some,
    };
  });
}

function priceFor(model: string | undefined, { currency, prices }: Spend) {
  if (model === undefined) return undefined;
  return priceOf(prices, model) ?? (currency === REPORTED ? priceOf(BUILT_IN_PRICES, model) : undefined);
}

const estimate = ({ told, said }: EndedTurn["chars"]): TokenCounts => ({
  inputTokens: Math.ceil(told / CHARACTERS_PER_TOKEN),
  outputTokens: Math.ceil(said / CHARACTERS_PER_TOKEN),
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
});

function byModel(uses: readonly ModelUse[]): ModelUse[] {
  const merged = new Map<string | undefined, ModelUse>();
  for (const use of uses) {
    const known = merged.get(use.model);
    merged.set(use.model, known ? add(known, use) : { ...use });
  }
  return [...merged.values()];
}

function add(a: ModelUse, b: ModelUse): ModelUse {
  const cost = a.cost === undefined && b.cost === undefined ? undefined : (a.cost ?? 0) + (b.cost ?? 0);
  return {
    model: a.model,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    ...(cost !== undefined && { cost }),
  };
}
