const formats = new Map<string, Intl.DateTimeFormat>();

/** The day (`YYYY-MM-DD`) in a time zone (IANA name, valid). */
export function localDay(now: number, zone: string): string {
  // The common case avoids loading the time zone data, which takes 12 ms.
  if (zone === "UTC") return new Date(now).toISOString().slice(0, 10);
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-CA", {
      timeZone: zone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
    });
    formats.set(zone, format);
  }
  const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]));
  return `${parts.year}-${parts.month}-${parts.day}`;
}
