import { hasMoreValues } from "./json-values.ts";

/** Longest line that passes: 32 MiB of reply text, escaped in JSON and wrapped in an envelope. */
export const MAX_LINE_BYTES = 72 * 1024 * 1024;
/** More values than any message has. A text is one, however long. */
const MAX_LINE_VALUES = 500_000;

/** From here on a line's pieces are gathered in memory of their own. */
const LONG_BYTES = 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;

export interface LineSplitterOptions {
  /** Longest line that is handed on, in bytes; default {@link MAX_LINE_BYTES}. */
  maxBytes?: number;
  /** Called once for a line that is longer, or has too many values to be read; the line is skipped. */
  onOverflow?: (() => void) | undefined;
  /** Takes lines as bytes, from the one that begins at `start` on; returns where the first begins that it left. */
  takeBytes?: ((lines: Buffer, start: number) => number) | undefined;
}

export interface LineSplitter {
  push(chunk: Buffer): void;
  /** The stream is over: hands on an unfinished last line. */
  end(): void;
}

/**
 * Cuts a byte stream into lines, however it was split: chunks may end inside a character. Lines end in LF or CRLF,
 * empty ones are skipped. Takes linear time: the pieces of a line are joined once, at its end, and those of a long one
 * are copied as they come into memory that grows in place and goes back to the system with the line. Blocks of that
 * size from the C library's heap would stay with the process.
 */
export function createLineSplitter(
  onLine: (line: string) => void,
  { maxBytes = MAX_LINE_BYTES, onOverflow, takeBytes }: LineSplitterOptions = {},
): LineSplitter {
  let pieces: Buffer[] = [];
  let long: ArrayBuffer | undefined;
  let pending = 0;
  let skipping = false;

  const textOf = (bytes: Buffer, start: number, end: number): string | undefined => {
    const last = end > start && bytes[end - 1] === CR ? end - 1 : end;
    if (last === start) return undefined;
    if (last - start <= maxBytes) {
      const line = bytes.toString("utf8", start, last);
      if (!hasMoreValues(line, MAX_LINE_VALUES)) return line;
    }
    onOverflow?.();
    return undefined;
  };
  const emit = (bytes: Buffer, start: number, end: number) => {
    const line = textOf(bytes, start, end);
    if (line !== undefined) onLine(line);
  };

  const drop = () => {
    pieces = [];
    pending = 0;
    long?.resize(0);
    long = undefined;
  };
  const copy = (into: ArrayBuffer, piece: Buffer, at: number) => {
    const end = at + piece.length;
    if (end > into.byteLength) into.resize(Math.min(maxBytes + 1, Math.max(end, 2 * into.byteLength)));
    new Uint8Array(into, at, piece.length).set(piece);
    return end;
  };

  const hold = (piece: Buffer) => {
    if (skipping || piece.length === 0) return;
    // One byte of room for a CR that the line's end may still take away.
    if (pending + piece.length > maxBytes + 1) {
      drop();
      skipping = true;
      onOverflow?.();
      return;
    }
    if (!long && pending + piece.length > LONG_BYTES) {
      long = new ArrayBuffer(2 * LONG_BYTES, { maxByteLength: Math.max(maxBytes + 1, 2 * LONG_BYTES) });
      let at = 0;
      for (const earlier of pieces) at = copy(long, earlier, at);
      pieces = [];
    }
    if (long) copy(long, piece, pending);
    else pieces.push(piece);
    pending += piece.length;
  };

  const finish = () => {
    if (!skipping && pending > 0) {
      const whole = long
        ? Buffer.from(long, 0, pending)
        : pieces.length === 1
          ? pieces[0]!
          : Buffer.concat(pieces, pending);
      const line = textOf(whole, 0, whole.length);
      drop();
      if (line !== undefined) onLine(line);
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
      }
      while (at !== -1) {
        if (takeBytes) start = takeBytes(chunk, start);
        at = chunk.indexOf(LF, start);
        if (at === -1) break;
        emit(chunk, start, at);
        start = at + 1;
      }
      if (start < chunk.length) hold(start === 0 ? chunk : chunk.subarray(start));
    },
    end: finish,
  };
}
