import { Cron } from "croner";
import { wallClock } from "../lib/wall-clock.ts";
import type { Timing } from "./types.ts";

const MINUTE_MS = 60_000;
/** What the library takes besides five fields are points in time and events, which are something else here. */
const FIELDS = /^\s*(?:@[a-z]+|\S+(?:\s+\S+){4})\s*$/i;
const UNITS = { s: 1_000, m: MINUTE_MS, h: 60 * MINUTE_MS, d: 1_440 * MINUTE_MS } as const;
const INTERVAL = /^(\d{1,6})([smhd])$/;
const MIN_INTERVAL_MS = 60_000;
const MAX_INTERVAL_MS = 366 * UNITS.d;

/** Whether a schedule is an interval: `30m`, `2h`, `1d`. */
export const isInterval = (text: string): boolean => INTERVAL.test(text.trim());

/** An interval in milliseconds; undefined for one that is none, too short or too long. */
export function intervalOf(text: string): number | undefined {
  const found = INTERVAL.exec(text.trim());
  if (!found) return undefined;
  const ms = Number(found[1]) * UNITS[found[2] as keyof typeof UNITS];
  return ms >= MIN_INTERVAL_MS && ms <= MAX_INTERVAL_MS ? ms : undefined;
}

/** The times of a pattern as a wall clock shows them, without regard to any time zone. */
function patternOf(text: string): Cron | undefined {
  if (!FIELDS.test(text)) return undefined;
  try {
    return new Cron(text.trim(), { timezone: "UTC", mode: "5-part", paused: true });
  } catch {
    return undefined;
  }
}

/** Whether a text is a pattern of five fields, or `@daily` and its kin. */
export const isPattern = (text: string): boolean => patternOf(text) !== undefined;

/**
 * The next time after a moment; null if none comes. A pattern is read from the wall clock of its time zone, each of whose
 * times counts once: one that is shown twice, the first time; those that are left out count, all together, at the moment
 * at which the clock is set forward.
 */
export function nextAfter(timing: Timing, after: number): number | null {
  switch (timing.kind) {
    case "at":
      return timing.at > after ? timing.at : null;
    case "every": {
      const steps = Math.floor((after - timing.from) / timing.ms) + 1;
      return timing.from + Math.max(1, steps) * timing.ms;
    }
    case "cron":
      return nextOfPattern(timing, after);
    default:
      return timing satisfies never;
  }
}

function nextOfPattern(
  { pattern, timezone }: Extract<Timing, { kind: "cron" }>,
  after: number,
): number | null {
  const cron = patternOf(pattern);
  if (!cron) return null;
  const clock = wallClock(timezone);
  let time = new Date(Math.floor(clock.at(after) / MINUTE_MS) * MINUTE_MS);
  for (;;) {
    const next = cron.nextRun(time);
    if (!next) return null;
    const moment = clock.moment(next.getTime());
    // In an hour that is shown a second time, its times have been before.
    if (moment > after) return moment;
    time = next;
  }
}

/** The shortest distance between the next `count` times; undefined while there are fewer than two. */
export function closest(timing: Timing, after: number, count: number): number | undefined {
  let least: number | undefined;
  let last = nextAfter(timing, after);
  for (let n = 1; n < count && last !== null; n++) {
    const next = nextAfter(timing, last);
    if (next === null) break;
    least = Math.min(least ?? Number.POSITIVE_INFINITY, next - last);
    last = next;
  }
  return least;
}

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?\s*(Z|[+-]\d{2}:?\d{2})?$/i;

/** A moment as ISO 8601; without an offset, on the wall clock of the time zone. Undefined if it is none. */
export function momentOf(text: string, timezone: string): number | undefined {
  const found = ISO.exec(text.trim());
  if (!found) return undefined;
  const [, year, month, day, hour, minute, second = "00", fraction = "", zone] = found;
  const plain = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, "0").slice(0, 3)}Z`;
  const time = Date.parse(plain);
  // 30 February is not the second of March.
  if (Number.isNaN(time) || new Date(time).toISOString() !== plain) return undefined;
  if (zone === undefined) return wallClock(timezone).moment(time);
  if (/^z$/i.test(zone)) return time;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(-2))];
  if (hours > 23 || minutes > 59) return undefined;
  return time - (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS;
}
