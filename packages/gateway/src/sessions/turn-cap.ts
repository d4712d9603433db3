/** Text limit of one turn, in bytes of UTF-8; a string and a row can hold far more. */
export const MAX_TEXT_BYTES = 32 * 1024 * 1024;
const TOO_LONG = "The agent wrote more than 32 MiB of text in one turn, so the turn was ended.";

/** The agent wrote more in one turn than is kept. The message is user-facing. */
export class TextOverflow extends Error {
  constructor() {
    super(TOO_LONG);
  }
}
