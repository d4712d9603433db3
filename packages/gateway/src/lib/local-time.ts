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
  // The common case avoids loading the time zone data, which takes 12 ms.
  if (zone === "UTC") {
    const text = new Date(now).toISOString();
    return { day: text.slice(0, 10), hour: Number(text.slice(11, 13)) };
  }
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(now)
      .map(({ type, value }) => [type, value]),
  );
  return { day: `${parts.year}-${parts.month}-${parts.day}`, hour: Number(parts.hour) };
}
