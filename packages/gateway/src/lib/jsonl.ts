/** Longest line that passes: 32 MiB of reply text, escaped in JSON and wrapped in an envelope. */
export const MAX_LINE_BYTES = 72 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;

export interface LineSplitterOptions {
  /** Longest line that is handed on, in bytes; default {@link MAX_LINE_BYTES}. */
  maxBytes?: number;
  /** Called once for a line that is longer; the line is skipped. */
  onOverflow?: (() => void) | undefined;
}

export interface LineSplitter {
  push(chunk: Buffer): void;
  /** The stream is over: hands on an unfinished last line. */
  end(): void;
}

/**
 * Cuts a byte stream into lines, however it was split: chunks may end inside a character. Lines end in LF or CRLF,
 * empty ones are skipped. Takes linear time: the pieces of a long line are joined once, at its end.
 */
export function createLineSplitter(
  onLine: (line: string) => void,
  { maxBytes = MAX_LINE_BYTES, onOverflow }: LineSplitterOptions = {},
): LineSplitter {
  let pieces: Buffer[] = [];
  let pending = 0;
  let skipping = false;

  const emit = (bytes: Buffer, start: number, end: number) => {
    const last = end > start && bytes[end - 1] === CR ? end - 1 : end;
    if (last === start) return;
    if (last - start > maxBytes) onOverflow?.();
    else onLine(bytes.toString("utf8", start, last));
  };

  const hold = (piece: Buffer) => {
    if (skipping || piece.length === 0) return;
    pieces.push(piece);
    pending += piece.length;
    // One byte of room for a CR that the line's end may still take away.
    if (pending <= maxBytes + 1) return;
    pieces = [];
    pending = 0;
    skipping = true;
    onOverflow?.();
  };

  const finish = () => {
    if (!skipping && pending > 0) {
      const joined = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, pending);
      pieces = [];
      pending = 0;
      emit(joined, 0, joined.length);
    }
    skipping = false;
  };

  return {
    push(chunk) {
      let start = 0;
      let at = chunk.indexOf(LF);
      if (at !== -1 && (pending > 0 || skipping)) {
        hold(chunk.subarray(0, at));
        finish();
        start = at + 1;
        at = chunk.indexOf(LF, start);
      }
      while (at !== -1) {
        emit(chunk, start, at);
        start = at + 1;
        at = chunk.indexOf(LF, start);
      }
      if (start < chunk.length) hold(start === 0 ? chunk : chunk.subarray(start));
    },
    end: finish,
  };
}
