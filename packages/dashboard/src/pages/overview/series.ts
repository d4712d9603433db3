import type { Activity } from "../../api/types.ts";

export const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** The largest of those that are known; null when none is. */
export function worst(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((most, value) => Math.max(most, value));
}

/** What happened in one hour, or in what there is of it. */
export interface Hour {
  /** When it began, in Unix ms. */
  at: number;
  received: number;
  replies: number;
  turns: number;
  failed: number;
  p95Ms: number | null;
  memory: number | null;
}

const HOUR_MS = 3_600_000;

/** Sums the steps up by hours, the latest first. */
export function byHour(activity: Activity): Hour[] {
  const { from, stepMs, received, replies, turns, failed, p95Ms, memory } = activity;
  const perHour = Math.max(1, Math.round(HOUR_MS / stepMs));
  const hours: Hour[] = [];
  for (let start = 0; start < received.length; start += perHour) {
    const of = <Value>(values: readonly Value[]) => values.slice(start, start + perHour);
    hours.push({
      at: from + start * stepMs,
      received: sumOf(of(received)),
      replies: sumOf(of(replies)),
      turns: sumOf(of(turns)),
      failed: sumOf(of(failed)),
      p95Ms: worst(of(p95Ms)),
      memory: worst(of(memory)),
    });
  }
  return hours.reverse();
}
