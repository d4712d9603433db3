import { keepNewest } from "../../lib/keep-newest.ts";
import { addTokens, anyTokens, coversTokens, mapTokens, NO_TOKENS } from "../token-counts.ts";
import type { ModelUse, TokenCounts, TurnUse } from "../types.ts";
import type { ResultLine, Sums } from "./protocol.ts";

/** What a program has reported by the end of its latest turn. */
interface Reading {
  sums: Sums;
  totalCost: number | undefined;
}

/** What is known of each of the program's own sessions, by its id. */
export type Readings = Map<string, { latest: Reading; began: Reading | undefined }>;

/** Sessions whose readings are kept. */
const MAX_READINGS = 1000;
const NOTHING: Reading = { sums: {}, totalCost: 0 };

/** How a turn ended, as far as its usage goes. */
export interface TurnReading {
  /** Null for a process that is gone. */
  end: ResultLine | null;
  /** What the turn's model calls used, as they were streamed. */
  streamed: TokenCounts | undefined;
  model: string | undefined;
  sessionId: string | null;
}

/**
 * Finds what each turn of one process used. The program reports sums, and those of a turn are their growth. It saves
 * them when it ends in peace: a process that resumes a session goes on from there, and after a killed one from where
 * that one had begun.
 * @param resumed the session that the process resumed, if any
 */
export function createMeter(readings: Readings, resumed: string | undefined) {
  let began: Reading | undefined = resumed === undefined ? NOTHING : undefined;
  let latest = began;

  /** Where the sums of a resumed session began, judged by what its first turn says of itself; undefined if that stays open. */
  const beginning = (sums: Sums, own: TokenCounts | undefined) => {
    const known = readings.get(resumed!);
    const all = total(sums);
    if (known) {
      const grown = growth(all, total(known.latest.sums));
      return grown && coversTokens(grown, own ?? NO_TOKENS) ? known.latest : known.began;
    }
    return own === undefined || coversTokens(own, all) ? NOTHING : undefined;
  };

  return {
    /** Undefined when nothing was reported. */
    read({ end, streamed, model, sessionId }: TurnReading): TurnUse | undefined {
      const reported = end?.usage ? { ...NO_TOKENS, ...end.usage.billed } : undefined;
      const own = streamed ?? reported;
      const alone = own && { models: [{ model, ...own }] };
      if (end === null) return alone;
      const before = latest ?? beginning(end.sums, own);
      began ??= before;
      latest = { sums: end.sums, totalCost: end.totalCost };
      if (sessionId !== null) {
        readings.delete(sessionId);
        readings.set(sessionId, { latest, began });
        keepNewest(readings, MAX_READINGS);
      }
      if (before === undefined) return own && anyTokens(own) ? alone : undefined;
      const models = Object.entries(end.sums).flatMap(([name, sum]) => useOf(name, sum, before.sums[name]));
      const told = models.length > 0 ? models : alone?.models;
      if (told === undefined) return undefined;
      const cost = models.some((use) => use.cost !== undefined)
        ? undefined
        : difference(end.totalCost, before.totalCost);
      return { models: told, ...(cost !== undefined && { cost }) };
    },
  };
}

const total = (sums: Sums) => Object.values(sums).reduce<TokenCounts>(addTokens, NO_TOKENS);

/** How much a sum has grown; undefined if it has not only grown. */
function growth(now: TokenCounts, before: TokenCounts | undefined): TokenCounts | undefined {
  if (!before) return now;
  return coversTokens(now, before) ? mapTokens(now, before, (one, other) => one - other) : undefined;
}

/** A sum that has shrunk began anew. */
function useOf(model: string, now: Sums[string], before: Sums[string] | undefined): ModelUse[] {
  const grown = growth(now, before);
  const counts = grown ?? now;
  if (!anyTokens(counts)) return [];
  const cost = grown ? difference(now.cost, before?.cost) : now.cost;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = counts;
  return [
    {
      model,
      inputTokens,
      outputTokens,
      cacheReadTokens,
      cacheWriteTokens,
      ...(cost !== undefined && { cost }),
    },
  ];
}

const difference = (now: number | undefined, before = 0) =>
  now === undefined ? undefined : now >= before ? now - before : now;
