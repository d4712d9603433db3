import { closeSync, constants, openSync, readlinkSync, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { PathError } from "../safe-path.ts";

/** An open regular file. The receiver closes `handle`. */
export interface OpenedFile {
  handle: FileHandle;
  /** Absolute, without symbolic links. */
  path: string;
  stats: Stats;
}

/** Throws to refuse what a path turned out to refer to. */
export type Judge = (truePath: string, stats: Stats) => void;

/** `O_PATH` of Linux, which Node.js does not name: a descriptor that stands for a file without opening it. */
const O_PATH = 0o10000000;
/** `O_NOFOLLOW_ANY` of macOS: no part of the path may be a symbolic link. */
const O_NOFOLLOW_ANY = process.platform === "darwin" ? 0x20000000 : 0;
/** Not every system has all of these flags. With them, opening neither waits for a pipe's other end nor takes over a terminal. */
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
export const NO_LINK = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0) | O_NOFOLLOW_ANY;

export const throughDescriptor = (fd: number, name?: string): string =>
  name === undefined ? `/proc/self/fd/${fd}` : `/proc/self/fd/${fd}/${name}`;

/** Whether the system reports where an open file is, and opens files through a descriptor. */
export const TELLS_PATHS = process.platform === "linux" && tellsPaths();

function tellsPaths(): boolean {
  try {
    const fd = openSync("/", constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      return readlinkSync(throughDescriptor(fd)) === "/";
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  }
}

/** What a failed call says about the path; unexpected errors are unchanged. */
export function asPathError(error: unknown): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case "ENOENT":
    case "ENOTDIR":
    case "ENAMETOOLONG":
      return new PathError("missing");
    case "ELOOP":
    case "EMLINK":
      return new PathError("outside");
    // Never "missing": an unreadable file exists, and must not be mistaken for a fresh start.
    case "EACCES":
    case "EPERM":
    case "ENXIO":
    case "EISDIR":
    case "ENODEV":
    case "EAGAIN":
      return new PathError("not-file");
    default:
      return error;
  }
}

const rethrow = (error: unknown): never => {
  throw asPathError(error);
};

function requireFile(stats: Stats): void {
  if (!stats.isFile()) throw new PathError("not-file");
  if (stats.nlink === 0) throw new PathError("missing");
}

/**
 * Gets a handle on whatever the path names, asks the system what and where it is, and opens that very file if the
 * judge allows it. Nothing is opened, read or waited for before; later changes to the path do not matter.
 */
export async function openByDescriptor(path: string, judge: Judge): Promise<OpenedFile> {
  const found = await open(path, O_PATH).catch(rethrow);
  try {
    const stats = await found.stat();
    const truePath = await readlink(throughDescriptor(found.fd));
    judge(truePath, stats);
    requireFile(stats);
    const handle = await open(throughDescriptor(found.fd), READ).catch(rethrow);
    return { handle, path: truePath, stats };
  } finally {
    await found.close();
  }
}

/**
 * For systems that do not report what a descriptor refers to: opens the true path, then checks each of its parts
 * again. macOS refuses a link in any part; on other systems a narrow window remains in which folders and links can be
 * swapped.
 */
export async function openByWalk(path: string, judge: Judge): Promise<OpenedFile> {
  const truePath = await realpath(path).catch(rethrow);
  const before = await lstat(truePath).catch(rethrow);
  judge(truePath, before);
  requireFile(before);
  const handle = await open(truePath, READ | NO_LINK).catch(rethrow);
  try {
    const stats = await handle.stat();
    judge(truePath, stats);
    requireFile(stats);
    await requirePlain(truePath, stats).catch(rethrow);
    return { handle, path: truePath, stats };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Rejects unless the path, free of links in every part, names what was opened. */
export async function requirePlain(path: string, opened: Pick<Stats, "dev" | "ino">): Promise<void> {
  for (let part = dirname(path); ; part = dirname(part)) {
    if ((await lstat(part)).isSymbolicLink()) throw new PathError("outside");
    if (part === dirname(part)) break;
  }
  const named = await lstat(path);
  if (named.dev !== opened.dev || named.ino !== opened.ino) throw new PathError("outside");
}

/** Opens the regular file that a path names if `judge` has nothing against its true path. @throws PathError */
export const openTrue = TELLS_PATHS ? openByDescriptor : openByWalk;
