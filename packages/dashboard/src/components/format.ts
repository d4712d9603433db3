const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const exact = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const wholeDay = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const number = new Intl.NumberFormat();

const sameDay = (a: Date, b: Date) => a.toDateString() === b.toDateString();

/** The time of today, the date of another day. */
export function shortTime(ms: number): string {
  const date = new Date(ms);
  return sameDay(date, new Date()) ? time.format(date) : day.format(date);
}

/** To the second; on another day with the date. */
export function exactTime(ms: number): string {
  const date = new Date(ms);
  return sameDay(date, new Date()) ? exact.format(date) : `${day.format(date)}, ${exact.format(date)}`;
}

/** A day that is written `YYYY-MM-DD`. */
export const formatDay = (text: string): string => wholeDay.format(Date.parse(text));

export const clockTime = (ms: number): string => time.format(new Date(ms));
export const fullTime = (ms: number): string => full.format(new Date(ms));
export const formatNumber = (value: number): string => number.format(value);

/** A duration in its two largest units. */
export function duration(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours >= 1) return `${hours} h ${minutes % 60} min`;
  return minutes >= 1 ? `${minutes} min` : `${Math.floor(ms / 1000)} s`;
}

/** A duration that may be short: in milliseconds, in seconds with a digit after the point, or like {@link duration}. */
export function shortDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s` : duration(ms);
}

/** How long ago something was, in its two largest units; `never` for null. */
export const ago = (ms: number | null): string =>
  ms === null ? "never" : `${duration(Math.max(0, Date.now() - ms))} ago`;

const UNITS = ["bytes", "KB", "MB", "GB"];

/** A file's size in the largest unit that leaves a whole number before the point. */
export function fileSize(bytes: number): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  const value = bytes / 1000 ** step;
  return `${value.toFixed(step === 0 || value >= 10 ? 0 : 1)} ${UNITS[step]}`;
}
