import { randomInt } from "node:crypto";

/** Capital letters and digits that are hard to confuse. */
const ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const CODE_CHARS = 6;

/** A new code for people to compare or type; `taken` are those in use. */
export function mintCode(taken: ReadonlySet<string>): string {
  for (;;) {
    // `randomInt` draws again instead of taking a remainder, so that every character is equally likely.
    const code = Array.from({ length: CODE_CHARS }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
    if (!taken.has(code)) return code;
  }
}

/** Normalizes a typed code for comparison. */
export const sameCode = (a: string, b: string): boolean => a.trim().toUpperCase() === b.trim().toUpperCase();
