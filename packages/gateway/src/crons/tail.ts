const MAX_BYTES = 16_384;

/** Where a text begins that was cut before some byte: not within a character. */
function wholeFrom(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 4 && start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start++;
  return bytes.subarray(start);
}

/** The end of a text, 16 KiB as UTF-8 at most. */
export function endOf(text: string): string {
  if (text.length * 3 <= MAX_BYTES) return text;
  const bytes = Buffer.from(text.slice(-MAX_BYTES));
  return bytes.length <= MAX_BYTES && text.length <= MAX_BYTES
    ? text
    : wholeFrom(bytes.subarray(-MAX_BYTES)).toString("utf8");
}

/** The end of an output that grows: 16 KiB of it are kept. */
export function tailOf() {
  let kept: Buffer = Buffer.alloc(0);
  let cut = false;
  return {
    add(chunk: Buffer): void {
      cut ||= kept.length + chunk.length > MAX_BYTES;
      // Copied: a slice would keep the whole chunk.
      kept = Buffer.concat([kept, chunk.subarray(-MAX_BYTES)]).subarray(-MAX_BYTES);
    },
    text: () => (cut ? wholeFrom(kept) : kept).toString("utf8"),
  };
}
