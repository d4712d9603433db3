/** Characters around a cut in which words are looked for. */
const WINDOW = 240;
/** End of a sentence that a space follows, with what may close after it; and ends that need none. */
const SENTENCE = /[.!?…؟۔।॥፡።][\p{Pe}\p{Pf}"']{0,2}$/u;
const FULL_STOP = /[。！？｡]/;

let segmenters: { word: Intl.Segmenter; grapheme: Intl.Segmenter } | undefined;

/** Made late: few texts are ever cut inside a sentence. */
function segmenter(granularity: "word" | "grapheme"): Intl.Segmenter {
  segmenters ??= {
    word: new Intl.Segmenter(undefined, { granularity: "word" }),
    grapheme: new Intl.Segmenter(undefined, { granularity: "grapheme" }),
  };
  return segmenters[granularity];
}

/** Start of the word or grapheme that `at` stands in; undefined when it is not in sight. */
function startOf(
  granularity: "word" | "grapheme",
  text: string,
  from: number,
  at: number,
): number | undefined {
  const start = Math.max(from, at - WINDOW);
  const window = text.slice(start, at + WINDOW);
  const index = segmenter(granularity)
    .segment(window)
    .containing(at - start)?.index;
  return index ? start + index : undefined;
}

/** Last place after `least` and up to `end` where the text has `part`. */
function lastOf(part: string, text: string, least: number, end: number): number | undefined {
  const index = text.slice(least + 1, end + part.length).lastIndexOf(part);
  return index < 0 ? undefined : least + 1 + index;
}

/** Last place after `least` and up to `end` where a sentence has ended. */
function sentenceEnd(text: string, least: number, end: number): number | undefined {
  for (let at = end; at > least; at--) {
    if (FULL_STOP.test(text[at - 1] as string)) return at;
    if (/\s/.test(text[at] as string) && SENTENCE.test(text.slice(at - 3, at))) return at;
  }
  return undefined;
}

/**
 * Where to cut a text that goes on past `end`: after a line, a sentence or a word of its second half, else between
 * words that no space parts, else between graphemes, never inside a character.
 * @param from start of what is cut; the result is larger
 * @param end last possible place
 */
export function cutAt(text: string, from: number, end: number): number {
  const half = from + Math.ceil((end - from) / 2);
  const line = lastOf("\n", text, half, end);
  if (line !== undefined) return line;
  const sentence = sentenceEnd(text, half, end);
  if (sentence !== undefined) return sentence;
  for (let at = end; at > half; at--) if (/\s/.test(text[at] as string)) return at;
  const word = startOf("word", text, from, end);
  if (word !== undefined && word > half) return word;
  return startOf("grapheme", text, from, end) ?? wholeCharacter(text, from, end);
}

/** The same for code: after an empty line or a line, else between graphemes. */
export function cutCodeAt(text: string, from: number, end: number): number {
  const half = from + Math.ceil((end - from) / 2);
  const line = lastOf("\n\n", text, half, end) ?? lastOf("\n", text, from + Math.ceil((end - from) / 4), end);
  if (line !== undefined) return line;
  return startOf("grapheme", text, from, end) ?? wholeCharacter(text, from, end);
}

function wholeCharacter(text: string, from: number, end: number): number {
  const inside = /[\ud800-\udbff]/.test(text[end - 1] as string) && /[\udc00-\udfff]/.test(text[end] ?? "");
  return inside && end - 1 > from ? end - 1 : end;
}
