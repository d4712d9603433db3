/** The start of a text, at most `max` bytes as UTF-8, without splitting a character. */
export function cutToBytes(text: string, max: number): string {
  if (text.length * 3 <= max) return text;
  const bytes = Buffer.from(text.slice(0, max));
  if (text.length <= max && bytes.length <= max) return text;
  let end = Math.min(max, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  const cut = bytes.toString("utf8", 0, end);
  // A surrogate pair split by the first cut has become a replacement character.
  return text.startsWith(cut) ? cut : cut.slice(0, -1);
}
