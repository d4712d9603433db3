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
export const growingText = (start = ""): GrowingText => new PiecedText(start);

/** A class, because V8 keeps an object literal with accessors as a hash table: ten times as slow, for every piece. */
class PiecedText implements GrowingText {
  length: number;
  #whole: string;
  #pieces: string[] = [];

  constructor(start: string) {
    this.#whole = start;
    this.length = start.length;
  }

  add(piece: string): void {
    this.length += piece.length;
    this.#pieces.push(piece);
    if (this.#pieces.length === PIECES) this.#join();
  }

  toString(): string {
    if (this.#pieces.length > 0) this.#join();
    return this.#whole;
  }

  #join(): void {
    this.#whole += this.#pieces.join("");
    this.#pieces = [];
  }
}
