import { randomInt } from "node:crypto";

/** Capital letters and digits that are hard to confuse (contract section 10). */
const ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const CODE_CHARS = 6;
/** How long a code is valid. */
export const CODE_TTL_MS = 3_600_000;

/** A new code; `taken` are those already pending. */
export function mintCode(taken: ReadonlySet<string>): string {
  for (;;) {
    // `randomInt` draws again instead of taking a remainder, so that every character is equally likely.
    const code = Array.from({ length: CODE_CHARS }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
    if (!taken.has(code)) return code;
  }
}

/** Normalizes a typed code for comparison. */
export const sameCode = (a: string, b: string): boolean => a.trim().toUpperCase() === b.trim().toUpperCase();
