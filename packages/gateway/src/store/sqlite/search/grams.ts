/** Code points of a folded text. */
export function codePoints(folded: string): number[] {
  return Array.from(folded, (char) => char.codePointAt(0)!);
}

const ASCII = 128;
const token = (codePoint: number) => codePoint.toString(36);
const single = Array.from({ length: ASCII }, (_, a) => `${token(a)} `);
const pair = Array.from(
  { length: ASCII * ASCII },
  (_, index) => `${token(Math.floor(index / ASCII))}_${token(index % ASCII)} `,
);
/** Generation in which an ASCII gram was last seen: cheaper than a set, by far, for what most texts are made of. */
const seenPairs = new Uint32Array(ASCII * ASCII);
const seenSingles = new Uint32Array(ASCII);
let generation = 0;

/**
 * Every distinct character and pair of neighbouring characters of a folded text, as tokens separated by spaces: a
 * character is its code point in base 36, a pair is two of them with `_` between.
 */
export function gramsOf(folded: string): string {
  if (++generation > 0xffff_ffff) {
    seenPairs.fill(0);
    seenSingles.fill(0);
    generation = 1;
  }
  const seen = new Set<number>();
  let out = "";
  let previous = -1;
  for (let i = 0; i < folded.length; i++) {
    let point = folded.charCodeAt(i);
    if (point >= 0xd800 && point < 0xdc00) point = folded.codePointAt(i++)!;
    if (point < ASCII) {
      if (seenSingles[point] !== generation) {
        seenSingles[point] = generation;
        out += single[point];
      }
    } else if (!seen.has(point)) {
      seen.add(point);
      out += `${token(point)} `;
    }
    if (previous >= 0) {
      if ((point | previous) < ASCII) {
        const index = previous * ASCII + point;
        if (seenPairs[index] !== generation) {
          seenPairs[index] = generation;
          out += pair[index];
        }
      } else {
        const key = (previous + 1) * 0x110000 + point;
        if (!seen.has(key)) {
          seen.add(key);
          out += `${token(previous)}_${token(point)} `;
        }
      }
    }
    previous = point;
  }
  return out;
}

/** The token of a query of one or two characters. */
export const gramOf = (points: readonly number[]): string => points.map(token).join("_");

/** Token that stands for a chat in the index of grams; no gram begins with `_`. */
export const chatGram = (chat: number): string => `_${token(chat)}`;

const PRIVATE_USE = 0xe000;
const PRIVATE_USE_COUNT = 6400;

/** Three private-use characters, hence exactly one trigram, that stand for a chat. */
export function chatTrigram(chat: number): string {
  const digit = (place: number) =>
    PRIVATE_USE + (Math.floor(chat / PRIVATE_USE_COUNT ** place) % PRIVATE_USE_COUNT);
  return String.fromCodePoint(digit(2), digit(1), digit(0));
}
