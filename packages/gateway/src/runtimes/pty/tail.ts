import type { FileHandle } from "node:fs/promises";
import { createLineSplitter } from "../../lib/jsonl.ts";
import { createMutex } from "../../lib/mutex.ts";

const CHUNK_BYTES = 256 * 1024;

export interface TailOptions {
  /** Opens the file; undefined while there is none. */
  open(): Promise<FileHandle | undefined>;
  onLine(line: string): void;
  /** A line was too long to be kept; nothing more is read. */
  onOverflow(): void;
}

/** Reads what is appended to a file. */
export interface Tail {
  /** Hands on the whole lines that have come since the last time. One read at a time; rejects if it cannot be opened. */
  read(): Promise<void>;
  /** Leaves out what is there. */
  skip(): Promise<void>;
  /** Whether anything has ever been read. */
  readonly found: boolean;
  close(): Promise<void>;
}

export function createTail({ open, onLine, onOverflow }: TailOptions): Tail {
  const oneAtATime = createMutex();
  let handle: FileHandle | undefined;
  let at = 0;
  let closed = false;
  const newLines = () =>
    createLineSplitter(onLine, {
      onOverflow() {
        closed = true;
        onOverflow();
      },
    });
  let lines = newLines();
  const ready = async () => {
    if (!closed) handle ??= await open();
    return handle;
  };

  return {
    get found() {
      return handle !== undefined;
    },
    read: () =>
      oneAtATime(async () => {
        const file = await ready();
        if (!file) return;
        // A file that grows as fast as it is read goes on at the next call.
        const { size } = await file.stat();
        while (at < size && !closed) {
          const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, at);
          if (bytesRead === 0) return;
          at += bytesRead;
          lines.push(buffer.subarray(0, bytesRead));
        }
      }),
    skip: () =>
      oneAtATime(async () => {
        const file = await ready();
        if (!file) return;
        at = (await file.stat()).size;
        lines = newLines();
      }),
    close: () =>
      oneAtATime(async () => {
        closed = true;
        await handle?.close();
        handle = undefined;
      }),
  };
}
