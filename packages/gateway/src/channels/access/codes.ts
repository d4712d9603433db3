import { randomInt } from "node:crypto";

/** Capital letters and digits that are not mistaken for each other (contract section 10). */
const ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const CODE_CHARS = 6;
/** How long a code can be approved. */
export const CODE_TTL_MS = 3_600_000;

/** A new code; `taken` are those that wait already. */
export function mintCode(taken: ReadonlySet<string>): string {
  for (;;) {
    // `randomInt` draws again instead of taking a remainder, so that every character is equally likely.
    const code = Array.from({ length: CODE_CHARS }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
    if (!taken.has(code)) return code;
  }
}

/** What a person typed, as codes are compared. */
export const sameCode = (a: string, b: string): boolean => a.trim().toUpperCase() === b.trim().toUpperCase();
