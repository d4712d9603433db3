import { describe, expect, it } from "vitest";
import {
  closest,
  intervalOf,
  isPattern,
  momentOf,
  nextAfter,
} from "../../../packages/gateway/src/crons/schedule.ts";
import { isoIn } from "../../../packages/gateway/src/lib/wall-clock.ts";

const ZONES = ["Europe/Berlin", "America/New_York", "Asia/Bangkok", "Australia/Lord_Howe"];
const [FROM, TO] = [Date.UTC(2024, 0, 1), Date.UTC(2034, 0, 1)];
const MINUTE = 60_000;
const DAY = 86_400_000;
/** All changes of these zones' clocks fall on a quarter of an hour. */
const STEP = 15 * MINUTE;

/** What a wall clock shows, as the moment at which one in UTC shows the same: asked of `Intl`, field by field. */
function clockOf(zone: string): (moment: number) => number {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    calendar: "iso8601",
    hourCycle: "h23",
    dateStyle: "short",
    timeStyle: "medium",
  });
  const seen = new Map<number, number>();
  return (moment) => {
    let offset = seen.get(moment);
    if (offset === undefined) {
      const found = /^(\d+)-(\d+)-(\d+),? (\d+):(\d+)/.exec(format.format(moment).replaceAll("/", "-"))!;
      const [, a, month, c, hour, minute] = found.map(Number);
      const [year, day] = a! > 31 ? [a!, c!] : [c!, a!];
      offset = Date.UTC(year, month! - 1, day, hour!, minute!);
      seen.set(moment, offset);
    }
    return offset;
  };
}

/** One field of a pattern: numbers, ranges, steps and lists. */
function field(text: string, low: number, high: number): (value: number) => boolean {
  const parts = text.split(",").map((part) => {
    const [range = "", step = "1"] = part.split("/");
    const [from, to] = range === "*" ? [low, high] : range.split("-").map(Number);
    return (value: number) =>
      value >= from! && value <= (to ?? from!) && (value - from!) % Number(step) === 0;
  });
  return (value) => parts.some((part) => part(value));
}

function matcher(pattern: string): (shown: number) => boolean {
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = pattern.split(" ");
  const isMinute = field(minute, 0, 59);
  const isHour = field(hour, 0, 23);
  const isDay = field(day, 1, 31);
  const isMonth = field(month, 1, 12);
  const isWeekday = field(weekday, 0, 6);
  const inDay = Array.from({ length: 1440 }, (_, at) => isMinute(at % 60) && isHour(Math.floor(at / 60)));
  const days = new Map<number, boolean>();
  const dayMatches = (number: number) => {
    const at = new Date(number * DAY);
    if (!isMonth(at.getUTCMonth() + 1)) return false;
    if (day === "*" || weekday === "*") return isDay(at.getUTCDate()) && isWeekday(at.getUTCDay());
    return isDay(at.getUTCDate()) || isWeekday(at.getUTCDay());
  };
  return (shown) => {
    const number = Math.floor(shown / DAY);
    if (!inDay[(shown - number * DAY) / MINUTE]) return false;
    const known = days.get(number) ?? dayMatches(number);
    days.set(number, known);
    return known;
  };
}

/** Minute by minute: each time that is shown counts when it is first shown, those left out when the clock is set on. */
function expected(pattern: string, shown: (moment: number) => number): number[] {
  const matches = matcher(pattern);
  const times: number[] = [];
  let latest = shown(FROM - STEP) + STEP - MINUTE;
  for (let step = FROM; step < TO; step += STEP) {
    const first = shown(step);
    for (let moment = step, time = first; moment < step + STEP; moment += MINUTE, time += MINUTE) {
      let due = false;
      for (; latest < time; latest += MINUTE) due = matches(latest + MINUTE) || due;
      if (due) times.push(moment);
    }
  }
  return times;
}

function chain(pattern: string, timezone: string): number[] {
  const times: number[] = [];
  for (let at: number | null = FROM - 1; ; times.push(at)) {
    at = nextAfter({ kind: "cron", pattern, timezone }, at);
    if (at === null || at >= TO) return times;
  }
}

describe("the times of a pattern over ten years", () => {
  it.each(ZONES)("in %s are those that a look at the clock each minute finds [CRON-4]", (zone) => {
    const shown = clockOf(zone);
    const patterns = [
      "30 2 * * *",
      "0 2 * * 0",
      "15 1-3 * * *",
      "*/20 2 * 3,4,10,11 *",
      "0 0 29 2 *",
      "45 1,23 1,15 * 6",
      "59 23 31 12 *",
    ];
    for (const pattern of patterns) {
      const [ours, theirs] = [chain(pattern, zone), expected(pattern, shown)];
      expect(ours.length, pattern).toBe(theirs.length);
      const wrong = ours.findIndex((time, at) => time !== theirs[at]);
      expect(wrong === -1 ? undefined : [pattern, new Date(ours[wrong]!), new Date(theirs[wrong]!)]).toBe(
        undefined,
      );
    }
  });
});

const next = (pattern: string, timezone: string, after: string) =>
  new Date(nextAfter({ kind: "cron", pattern, timezone }, Date.parse(after))!).toISOString();

describe("a pattern", () => {
  it("whose hour is missing counts at its end, and in a doubled hour the first time [CRON-4]", () => {
    expect(next("30 2 * * *", "Europe/Berlin", "2027-03-27T12:00Z")).toBe("2027-03-28T01:00:00.000Z");
    expect(next("30 2 * * *", "Europe/Berlin", "2027-10-30T12:00Z")).toBe("2027-10-31T00:30:00.000Z");
    expect(next("30 2 * * *", "Europe/Berlin", "2027-10-31T00:30Z")).toBe("2027-11-01T01:30:00.000Z");
    // Within the hour that is shown a second time.
    expect(next("*/10 * * * *", "Europe/Berlin", "2027-10-31T01:15Z")).toBe("2027-10-31T02:00:00.000Z");
    // Half an hour.
    expect(next("15 2 * * *", "Australia/Lord_Howe", "2027-10-02T00:00Z")).toBe("2027-10-02T15:30:00.000Z");
  });

  it("has five fields or is @daily or its kin, and comes at some time [CRON-1]", () => {
    for (const good of [
      "* * * * *",
      "@daily",
      "@hourly",
      "@Weekly",
      "@monthly",
      "@yearly",
      "5 4 * jan mon-fri",
    ])
      expect(isPattern(good), good).toBe(true);
    for (const bad of [
      "",
      "* * * *",
      "* * * * * *",
      "61 * * * *",
      "@reboot",
      "2030-01-01T00:00:00",
      "a b c d e",
      `${" ".repeat(1_000_000)}x`,
    ])
      expect(isPattern(bad), bad.slice(0, 30)).toBe(false);
    expect(nextAfter({ kind: "cron", pattern: "0 0 30 2 *", timezone: "UTC" }, 0)).toBeNull();
  });
});

describe("an interval", () => {
  it("keeps to the grid that begins when the job is made [CRON-1]", () => {
    const timing = { kind: "every", ms: 90 * MINUTE, from: 1_000 } as const;
    expect([0, 1_000, 1_001, 1_000 + 90 * MINUTE].map((after) => nextAfter(timing, after))).toEqual([
      1_000 + 90 * MINUTE,
      1_000 + 90 * MINUTE,
      1_000 + 90 * MINUTE,
      1_000 + 180 * MINUTE,
    ]);
  });

  it("is a number and a unit, of a minute at least [CRON-1]", () => {
    expect(["60s", "30m", " 2h", "1d"].map(intervalOf)).toEqual([60_000, 1_800_000, 7_200_000, 86_400_000]);
    expect(["59s", "0m", "m", "1w", "1.5h", "9999d", "1h 5m"].map(intervalOf)).toEqual(
      Array(7).fill(undefined),
    );
  });
});

describe("a point in time", () => {
  it("without an offset is read from the wall clock of its zone [CRON-1]", () => {
    const iso = (text: string, zone = "Europe/Berlin") => {
      const at = momentOf(text, zone);
      return at === undefined ? undefined : new Date(at).toISOString();
    };
    expect(iso("2027-07-01T10:00")).toBe("2027-07-01T08:00:00.000Z");
    expect(iso("2027-01-01 10:00:30.5")).toBe("2027-01-01T09:00:30.500Z");
    expect(iso("2027-07-01T10:00Z")).toBe("2027-07-01T10:00:00.000Z");
    expect(iso("2027-07-01T10:00-05:30")).toBe("2027-07-01T15:30:00.000Z");
    // The first of two, and the end of an hour that is left out.
    expect(iso("2027-10-31T02:30")).toBe("2027-10-31T00:30:00.000Z");
    expect(iso("2027-03-28T02:30")).toBe("2027-03-28T01:00:00.000Z");
    for (const bad of [
      "tomorrow",
      "2027-02-30T10:00",
      "2027-07-01",
      "2027-07-01T25:00",
      "2027-07-01T10:00+25:00",
    ])
      expect(iso(bad), bad).toBeUndefined();
  });

  it("is told with the offset of its zone [CRON-2]", () => {
    const at = Date.UTC(2027, 6, 1, 10, 0, 5);
    expect(ZONES.map((zone) => isoIn(at, zone))).toEqual([
      "2027-07-01T12:00:05+02:00",
      "2027-07-01T06:00:05-04:00",
      "2027-07-01T17:00:05+07:00",
      "2027-07-01T20:30:05+10:30",
    ]);
    expect(isoIn(at, "America/St_Johns")).toBe("2027-07-01T07:30:05-02:30");
  });
});

it("the closest two of the next times are found across an uneven pattern [CRON-11]", () => {
  const timing = { kind: "cron", pattern: "0,58 * * * *", timezone: "UTC" } as const;
  expect(closest(timing, 0, 10)).toBe(2 * MINUTE);
  expect(closest({ kind: "at", at: 5 }, 0, 10)).toBeUndefined();
});
