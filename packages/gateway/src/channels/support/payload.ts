import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";

/** A provider's payload, whose shape cannot be trusted yet. */
export type Loose = { readonly [key: string]: unknown };

/** The value if it is an object, else an empty one. */
export function objectOf(value: unknown): Loose {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Loose) : {};
}

/** The objects in a list; empty if it is not a list. */
export function objectsOf(value: unknown): Loose[] {
  return Array.isArray(value)
    ? value.filter((entry) => typeof entry === "object" && entry !== null && !Array.isArray(entry))
    : [];
}

/** The value if it is a non-empty string. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A finite number, also if written as a string. */
export function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** The JSON of a body; undefined if it is not valid. */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) return undefined;
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** An id for an event that has none of its own: the same for the same content. */
export function contentId(event: unknown): string {
  return `sha256-${createHash("sha256").update(JSON.stringify(event)).digest("hex")}`;
}
