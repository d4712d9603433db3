import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A small file of lines, written without waiting: what a killed process wrote stays with the system. */
export interface NotesFile {
  /** Bytes in it; undefined while none is open for writing. */
  readonly size: number | undefined;
  /** The whole file; undefined when there is none, or it is none of ours. */
  read(): string | undefined;
  /** Adds a whole line or nothing. @throws when it could not be written */
  append(line: string): void;
  /** Puts a new file in the place of the old one, which stays when that fails. @throws */
  replace(text: string): void;
  close(): void;
}

function readWhole(path: string, maxBytes: number): string | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, READ);
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > maxBytes) return undefined;
    const bytes = Buffer.alloc(stats.size);
    for (let length = 0; length < bytes.length; ) {
      const count = readSync(fd, bytes, length, bytes.length - length, length);
      if (count === 0) return undefined;
      length += count;
    }
    return bytes.toString("utf8");
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function writeAll(fd: number, text: string): number {
  const bytes = Buffer.from(text);
  if (writeSync(fd, bytes) !== bytes.length) throw new Error("the file could not be written");
  return bytes.length;
}

/** @param maxBytes a larger file is none of ours */
export function createNotesFile(path: string, maxBytes: number): NotesFile {
  let open: { fd: number; size: number } | undefined;
  const close = () => {
    if (open) closeSync(open.fd);
    open = undefined;
  };

  return {
    get size() {
      return open?.size;
    },
    read: () => readWhole(path, maxBytes),
    append(line) {
      if (!open) throw new Error("the file is not open");
      try {
        open.size += writeAll(open.fd, line);
      } catch (error) {
        try {
          // Half a line must not stand before a whole one.
          ftruncateSync(open.fd, open.size);
        } catch {
          close();
        }
        throw error;
      }
    },
    replace(text) {
      const fresh = `${path}.new`;
      mkdirSync(dirname(path), { recursive: true });
      rmSync(fresh, { recursive: true, force: true });
      const fd = openSync(fresh, "ax", 0o600);
      try {
        const size = writeAll(fd, text);
        renameSync(fresh, path);
        close();
        open = { fd, size };
      } catch (error) {
        closeSync(fd);
        throw error;
      }
    },
    close,
  };
}
