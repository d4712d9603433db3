import { isUtf8 } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";
import type { ImportedLine, ImportedMessage } from "../store/index.ts";

/** A line of a file: `end` is the offset behind it. `text` is null where it is not UTF-8 or too long. */
export interface Line {
  number: number;
  text: string | null;
  end: number;
}

const CHUNK_BYTES = 1024 * 1024;
/** Room for the longest message, 32 MiB, with every character escaped. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;
const NEWLINE = 10;

/**
 * Lines of a file from `offset`, read synchronously: for threads other than the main one. Lines are separated by LF
 * or CRLF; blank ones count but are not returned.
 */
export function* readLines(file: string, offset = 0, lineNumber = 0): Generator<Line> {
  const fd = openSync(file, "r");
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let parts: Buffer[] = [];
    let length = 0;
    let number = lineNumber;
    let at = offset;
    const line = (last: Buffer): Line => {
      number++;
      at += length + last.length;
      const tooLong = length + last.length > MAX_LINE_BYTES;
      const bytes = tooLong || parts.length === 0 ? last : Buffer.concat([...parts, last]);
      parts = [];
      length = 0;
      return { number, text: tooLong || !isUtf8(bytes) ? null : clean(bytes, number), end: at };
    };
    for (let position = offset; ; ) {
      const read = readSync(fd, chunk, 0, CHUNK_BYTES, position);
      if (read === 0) break;
      position += read;
      const bytes = chunk.subarray(0, read);
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        const next = line(bytes.subarray(start, end + 1));
        start = end + 1;
        if (next.text !== "") yield next;
      }
      if (start === read) continue;
      length += read - start;
      // What is beyond the limit is only counted: the line is refused anyway.
      if (length <= MAX_LINE_BYTES) parts.push(Buffer.from(bytes.subarray(start)));
    }
    if (length > 0) {
      const next = line(Buffer.alloc(0));
      if (next.text !== "") yield next;
    }
  } finally {
    closeSync(fd);
  }
}

function clean(bytes: Buffer, number: number): string {
  const text = bytes.toString("utf8").trim();
  return number === 1 && text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** The messages of a file that has been checked already. */
export function* readCheckedImport(
  file: string,
  offset: number,
  lineNumber: number,
): Generator<ImportedLine> {
  for (const { number, text, end } of readLines(file, offset, lineNumber)) {
    yield { number, end, message: JSON.parse(text!) as ImportedMessage };
  }
}
