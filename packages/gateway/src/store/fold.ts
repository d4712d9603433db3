/**
 * How search compares texts: letters in lower case (both forms of sigma as one), nothing else changed, so `é` is not
 * `e`. The index holds folded texts, so what is in it and what is scanned compare alike. NUL and the two code points
 * that not every driver can carry become others that no text uses.
 */
export function fold(text: string): string {
  return text
    .toWellFormed()
    .toLowerCase()
    .replace(/[ς\0\ufffe\uffff]/g, (char) => (char === "ς" ? "σ" : char === "\0" ? "\ufdd0" : "\ufffd"));
}
