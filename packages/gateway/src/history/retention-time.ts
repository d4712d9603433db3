import { type LocalHour, localHour } from "../lib/local-time.ts";

/**
 * Whether the clean-up of a day is due: within its hour, or right after it where the clock jumped over the hour (the
 * start of summer time, a machine that slept). A gateway that was not running then waits for the next day.
 */
export function isDue(previous: LocalHour | undefined, current: LocalHour, hour: number): boolean {
  if (current.hour === hour) return true;
  return previous?.day === current.day && previous.hour < hour && hour < current.hour;
}

export const isHour = (now: number, hour: number, zone: string): boolean =>
  localHour(now, zone).hour === hour;

/** Time zones differ by whole quarters of an hour. */
const STEP_MS = 900_000;
const HOUR_MS = 3_600_000;

/** When the next clean-up after `now` is due: at the beginning of its hour, or where the clock jumps over that hour. */
export function nextHour(now: number, hour: number, zone: string): number {
  const hours = (hour - localHour(now, zone).hour + 24) % 24 || 24;
  // No clock change moves it by more than two hours.
  let at = Math.ceil((now + 1) / STEP_MS) * STEP_MS + Math.max(0, hours - 3) * HOUR_MS;
  for (let previous = localHour(at - STEP_MS, zone); ; at += STEP_MS) {
    const current = localHour(at, zone);
    if (isDue(previous, current, hour) && previous.hour !== hour) return at;
    previous = current;
  }
}
