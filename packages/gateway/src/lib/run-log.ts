import { type FileHandle, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** The log is cut into this many files, so that dropping the oldest keeps most of it. */
const PARTS = 4;
const READ_BYTES = 64 * 1024;

/** A piece of the log; it does not follow the one before it if what lay between is gone. */
export interface LogPiece {
  /** Number of its first byte, counted from the beginning of the output. */
  at: number;
  bytes: Buffer;
}

/** A part of the log, in a file that has the number of its first byte as its name. */
interface Part {
  start: number;
  size: number;
}

export interface RunLogReader {
  /**
   * Reads from byte `at`, or from the oldest that is kept, and goes on as the log grows, until it is closed. A slow
   * reader holds up nobody; it loses what is dropped meanwhile.
   */
  follow(at: number, signal?: AbortSignal): AsyncIterable<LogPiece>;
}

export interface RunLog extends RunLogReader {
  /** Takes output; never throws, never waits. */
  write(chunk: Buffer): void;
  /** Bytes that are not in a file yet. */
  readonly waiting: number;
  /** Bytes that could not be written. */
  readonly lost: number;
  /** Resolves when everything is written or lost; readers then end. */
  close(): Promise<void>;
}

/** Where readers find what is there now, and what wakes them. */
interface Source {
  parts(): readonly Part[];
  closed(): boolean;
  grown(signal: AbortSignal | undefined): Promise<void>;
}

/**
 * Keeps the output of one program in `dir`, which must be its own; the newest `maxBytes` of it.
 * @param onWritten called after each piece that was written or lost
 */
export async function createRunLog(
  dir: string,
  { maxBytes, onWritten = () => {} }: { maxBytes: number; onWritten?: () => void },
): Promise<RunLog> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const parts: Part[] = [];
  let pending: Buffer[] = [];
  let waiting = 0;
  let lost = 0;
  let end = 0;
  let file: FileHandle | undefined;
  let draining: Promise<void> | undefined;
  let closed = false;
  const sleepers = new Set<() => void>();
  const wake = () => {
    for (const one of [...sleepers]) one();
  };

  const nextPart = async (): Promise<FileHandle> => {
    await endPart();
    const room = maxBytes - Math.ceil(maxBytes / PARTS);
    while (parts.length > 0 && parts.reduce((sum, { size }) => sum + size, 0) > room) {
      const oldest = parts.shift()!;
      await rm(join(dir, String(oldest.start)), { force: true });
    }
    const opened = await open(join(dir, String(end)), "wx", 0o600);
    parts.push({ start: end, size: 0 });
    return opened;
  };
  const endPart = async () => {
    const ended = file;
    file = undefined;
    await ended?.close();
  };
  /** Nothing was written into the latest file: a disk that stays full would get one for each piece. */
  const dropEmpty = async () => {
    if (parts.at(-1)?.size !== 0) return;
    const { start } = parts.pop()!;
    await rm(join(dir, String(start)), { force: true }).catch(() => {});
  };
  const put = async (bytes: Buffer) => {
    const most = Math.ceil(maxBytes / PARTS);
    for (let done = 0; done < bytes.length; ) {
      if ((parts.at(-1)?.size ?? 0) >= most) await endPart();
      file ??= await nextPart();
      const part = parts.at(-1)!;
      const { bytesWritten } = await file.write(bytes, done, Math.min(bytes.length - done, most - part.size));
      part.size += bytesWritten;
      end += bytesWritten;
      waiting -= bytesWritten;
      done += bytesWritten;
    }
  };
  const drain = async () => {
    while (pending.length > 0) {
      const batch = Buffer.concat(pending);
      pending = [];
      const after = end + batch.length;
      try {
        await put(batch);
      } catch {
        // A full or missing disk must not stop the program: its output is lost, and the next begins a new file.
        lost += after - end;
        waiting -= after - end;
        end = after;
        await endPart().catch(() => {});
        await dropEmpty();
      }
      wake();
      onWritten();
    }
    draining = undefined;
  };

  return {
    get waiting() {
      return waiting;
    },
    get lost() {
      return lost;
    },
    write(chunk) {
      if (closed) return;
      pending.push(chunk);
      waiting += chunk.length;
      draining ??= drain();
    },
    follow: follower(dir, {
      parts: () => parts,
      closed: () => closed,
      grown: (signal) =>
        new Promise((resolve) => {
          const done = () => {
            sleepers.delete(done);
            signal?.removeEventListener("abort", done);
            resolve();
          };
          sleepers.add(done);
          signal?.addEventListener("abort", done);
        }),
    }),
    async close() {
      await draining;
      closed = true;
      await endPart().catch(() => {});
      wake();
    },
  };
}

/** Reads a log that is no longer written, also one that an earlier run left. */
export async function openRunLog(dir: string): Promise<RunLogReader> {
  const starts = (await readdir(dir)).filter((name) => /^\d{1,15}$/.test(name)).map(Number);
  const parts = await Promise.all(
    starts
      .sort((a, b) => a - b)
      .map(async (start) => ({ start, size: (await stat(join(dir, String(start)))).size })),
  );
  return { follow: follower(dir, { parts: () => parts, closed: () => true, grown: async () => {} }) };
}

function follower(dir: string, { parts, closed, grown }: Source): RunLogReader["follow"] {
  /** The next bytes from `at` on; undefined when there are none yet. */
  const next = async (at: number): Promise<LogPiece | undefined> => {
    for (const { start, size } of [...parts()]) {
      if (start + size <= at) continue;
      const from = Math.max(at, start);
      const bytes = await readAt(join(dir, String(start)), from - start, start + size - from);
      if (bytes) return { at: from, bytes };
    }
    return undefined;
  };
  return async function* follow(at, signal) {
    let position = at;
    while (!signal?.aborted) {
      // Looked at first: what is written after this look wakes the reader.
      const last = closed();
      const woken = new AbortController();
      const growth = grown(signal ? AbortSignal.any([signal, woken.signal]) : woken.signal);
      try {
        let piece = await next(position);
        while (piece && !signal?.aborted) {
          position = piece.at + piece.bytes.length;
          yield piece;
          piece = await next(position);
        }
        if (last) return;
        await growth;
      } finally {
        woken.abort();
      }
    }
  };
}

/** Undefined when the file is gone: it was the oldest, and another takes its place. */
async function readAt(path: string, position: number, length: number): Promise<Buffer | undefined> {
  const file = await open(path, "r").catch(() => undefined);
  if (!file) return undefined;
  try {
    const buffer = Buffer.allocUnsafe(Math.min(length, READ_BYTES));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    return bytesRead > 0 ? buffer.subarray(0, bytesRead) : undefined;
  } finally {
    await file.close();
  }
}
