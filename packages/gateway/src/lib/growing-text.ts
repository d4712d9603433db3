/** Pieces that are joined at once: few enough to be quick, many enough that the joined texts are few. */
const PIECES = 512;

/** A text that grows by many small pieces and is read now and then. */
export interface GrowingText {
  readonly length: number;
  add(piece: string): void;
  /** The whole text. */
  toString(): string;
}

/**
 * Appending with `+` makes a tree of one node for each piece, which lives as long as the text, and keeps the longer
 * string that a piece was cut from. Pieces that are joined in turn do neither.
 */
export function growingText(start = ""): GrowingText {
  let whole = start;
  let pieces: string[] = [];
  let length = start.length;
  const join = () => {
    whole += pieces.join("");
    pieces = [];
  };
  return {
    get length() {
      return length;
    },
    add(piece) {
      length += piece.length;
      pieces.push(piece);
      if (pieces.length === PIECES) join();
    },
    toString() {
      if (pieces.length > 0) join();
      return whole;
    },
  };
}
