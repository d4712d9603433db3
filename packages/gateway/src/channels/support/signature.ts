import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { WebhookRequest } from "../types.ts";

const SHA256_BYTES = 32;

/**
 * Value of a header that goes by several names; undefined if it is missing, or present twice with different values.
 * (Node.js joins repeated headers with commas, which no signature or time contains.)
 */
export function oneHeader(
  headers: WebhookRequest["headers"],
  ...names: readonly string[]
): string | undefined {
  let found: string | undefined;
  for (const name of names) {
    const value = headers[name];
    if (value === undefined) continue;
    if (typeof value !== "string" || (found !== undefined && found !== value)) return undefined;
    found = value;
  }
  return found;
}

/** HMAC-SHA256 of the concatenated parts. */
export function hmacSha256(secret: string, ...parts: readonly (string | Uint8Array)[]): Buffer {
  const hmac = createHmac("sha256", secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Compares a SHA-256 in hex, in either case, with the expected bytes in constant time. */
export function sameHex(value: string, expected: Buffer): boolean {
  return /^[0-9a-f]{64}$/i.test(value) && timingSafeEqual(Buffer.from(value, "hex"), expected);
}

/** Compares a SHA-256 in base64, in its one canonical spelling, with the expected bytes in constant time. */
export function sameBase64(value: string, expected: Buffer): boolean {
  const bytes = Buffer.from(value, "base64");
  if (bytes.length !== SHA256_BYTES || bytes.toString("base64") !== value) return false;
  return timingSafeEqual(bytes, expected);
}

/** Compares two secrets in a time that does not reveal where they differ. */
export function sameSecret(value: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(value), digest(expected));
}
