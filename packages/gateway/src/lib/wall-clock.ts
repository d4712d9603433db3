const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * The wall clock of a time zone. Its times are numbers too: Unix milliseconds of the moment at which a clock in UTC
 * shows the same.
 */
export interface WallClock {
  /** What the clock shows at a moment. */
  at(moment: number): number;
  /**
   * The moment at which the clock shows a time: the first of two where it is set back, and where it is set forward past
   * that time, the moment at which that is done.
   */
  moment(time: number): number;
}

const UTC: WallClock = { at: (moment) => moment, moment: (time) => time };
const clocks = new Map<string, WallClock>();

/** The wall clock of an IANA time zone. @throws RangeError if there is none of this name */
export function wallClock(zone: string): WallClock {
  // The common case avoids loading the time zone data, which takes 12 ms.
  if (zone === "UTC") return UTC;
  let clock = clocks.get(zone);
  if (!clock) {
    clock = createWallClock(zone);
    clocks.set(zone, clock);
  }
  return clock;
}

function createWallClock(zone: string): WallClock {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  const at = (moment: number): number => {
    const minute = Math.floor(moment / MINUTE_MS) * MINUTE_MS;
    // In this locale and with these fields: 11/22/2026, 20:05.
    const [month, day, year, hour, min] = format.format(minute).match(/\d+/g)!.map(Number);
    return Date.UTC(year!, month! - 1, day!, hour!, min!) + (moment - minute);
  };
  const offset = (moment: number) => at(moment) - moment;
  return {
    at,
    moment(time) {
      const before = offset(time - DAY_MS);
      const after = offset(time + DAY_MS);
      const [first, second] = [time - Math.max(before, after), time - Math.min(before, after)] as const;
      if (at(first) === time) return first;
      if (at(second) === time) return second;
      return changeBetween(time - DAY_MS, time + DAY_MS, offset);
    },
  };
}

/** The first minute at which the offset is another than at the beginning. */
function changeBetween(from: number, to: number, offset: (moment: number) => number): number {
  const before = offset(from);
  let [low, high] = [Math.floor(from / MINUTE_MS), Math.ceil(to / MINUTE_MS)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offset(middle * MINUTE_MS) === before) low = middle;
    else high = middle;
  }
  return high * MINUTE_MS;
}

/** A moment, to the second, as ISO 8601 with the offset of a time zone: `2026-11-22T20:05:00+01:00`. */
export function isoIn(moment: number, zone: string): string {
  const time = wallClock(zone).at(moment);
  const minutes = Math.round((time - moment) / MINUTE_MS);
  const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
  const size = Math.abs(minutes);
  const local = new Date(time).toISOString().slice(0, -".000Z".length);
  return `${local}${minutes < 0 ? "-" : "+"}${two(size / 60)}:${two(size % 60)}`;
}
