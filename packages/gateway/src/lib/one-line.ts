/**
 * Characters that break lines, steer terminals, are not seen, or turn the direction of what follows: controls, line and
 * paragraph separators, bidirectional marks and overrides, zero-width characters, tags, halves of surrogate pairs.
 * The joiner U+200D stays: emoji are made with it.
 */
const UNSEEN =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]+/gu;

/** Text from outside as one harmless line of at most `max` characters; undefined when nothing is left. */
export function oneLine(text: unknown, max: number): string | undefined {
  if (typeof text !== "string") return undefined;
  // No one needs more of it, and no pattern should run on a megabyte.
  const line = text
    .slice(0, max * 8)
    .replace(UNSEEN, " ")
    .replace(/\s+/gu, " ")
    .trim();
  const cut = [...line].slice(0, max).join("").trim();
  return cut === "" ? undefined : cut;
}

/** The last part of a path or file name from outside, as one harmless line of at most 128 characters. */
export function fileName(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const last = name.slice(-1024).split(/[/\\]/).at(-1);
  const line = oneLine(last, 1024)?.replace(/[<>:"|?*]/g, "_");
  if (line === undefined || /^\.+$/.test(line)) return undefined;
  // Cut the middle: the extension shows the file type.
  const characters = [...line];
  return characters.length <= 128
    ? line
    : `${characters.slice(0, 100).join("")}…${characters.slice(-27).join("")}`;
}
