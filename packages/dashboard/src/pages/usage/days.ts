import type { UsageReport } from "../../api/types.ts";

const DAY_MS = 86_400_000;
const NOTHING = {
  turns: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cost: 0,
};

/** One day's sums. */
export type Day = typeof NOTHING & { day: string };

/** The day (`YYYY-MM-DD`) that is `days` before another. */
export const daysBefore = (day: string, days: number): string =>
  new Date(Date.parse(day) - days * DAY_MS).toISOString().slice(0, 10);

/** Every day of a report by day, also those on which nothing happened; oldest first. */
export function everyDay({ from, to, rows }: UsageReport): Day[] {
  const known = new Map(rows.map((row) => [row.day, row]));
  const days: Day[] = [];
  for (let day = from; day <= to; day = daysBefore(day, -1))
    days.push({ ...NOTHING, ...known.get(day), day });
  return days;
}

export const tokensOf = (sum: Omit<Day, "day">): number =>
  sum.inputTokens + sum.outputTokens + sum.cacheReadTokens + sum.cacheWriteTokens;
