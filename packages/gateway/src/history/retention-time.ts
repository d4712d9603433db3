/** A moment on the wall clock of some place. */
export interface LocalHour {
  /** `YYYY-MM-DD`. */
  day: string;
  /** 0-23. */
  hour: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-CA", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
    });
    formats.set(zone, format);
  }
  return format;
}

/** Day and hour in a time zone (IANA name, valid). */
export function localHour(now: number, zone: string): LocalHour {
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(now)
      .map(({ type, value }) => [type, value]),
  );
  return { day: `${parts.year}-${parts.month}-${parts.day}`, hour: Number(parts.hour) };
}

/**
 * Whether the clean-up of a day is due: within its hour, or right after it where the clock jumped over the hour (the
 * start of summer time, a machine that slept). A gateway that was not running then waits for the next day.
 */
export function isDue(previous: LocalHour | undefined, current: LocalHour, hour: number): boolean {
  if (current.hour === hour) return true;
  return previous?.day === current.day && previous.hour < hour && hour < current.hour;
}
