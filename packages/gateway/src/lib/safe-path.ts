import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, sep } from "node:path";

/**
 * Why a path is refused: `invalid` is no path that anyone means, `outside` leaves the folder, `missing` names
 * nothing, `not-file` names a folder, socket or device.
 */
export type PathProblem = "invalid" | "outside" | "missing" | "not-file";

/** A refused path. Its message names no path. */
export class PathError extends Error {
  readonly problem: PathProblem;
  constructor(problem: PathProblem) {
    super(`the path is refused: ${problem}`);
    this.name = "PathError";
    this.problem = problem;
  }
}

/** An open regular file that was proven to lie inside its folder. Whoever gets it closes `handle`. */
export interface OpenedFile {
  handle: FileHandle;
  /** Absolute, without symbolic links. */
  path: string;
  stats: Stats;
}

const MAX_PATH_CHARS = 4096;
/** What would be a separator, a dot or a NUL if someone decoded the path once more. */
const ENCODED = /%(?:2e|2f|5c|00)/i;
// O_NONBLOCK: opening a FIFO must not wait for its writer. O_NOFOLLOW does not exist on Windows.
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * The segments of a relative path that came from outside, decoded once already.
 * @throws PathError `invalid` for anything absolute, empty, with `.` or `..` segments, backslashes, control
 * characters, or percent-encoded separators and dots.
 */
export function safeSegments(relative: string): string[] {
  const bad =
    relative === "" ||
    relative.length > MAX_PATH_CHARS ||
    relative.includes("\\") ||
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    /[\u0000-\u001f\u007f]/.test(relative) ||
    ENCODED.test(relative) ||
    /^[A-Za-z]:/.test(relative);
  const segments = relative.split("/");
  if (bad || segments.some((segment) => segment === "" || segment === "." || segment === "..")) {
    throw new PathError("invalid");
  }
  return segments;
}

/** True when `path` is `root` or lies below it; both absolute and without symbolic links. */
export function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/**
 * Opens the regular file that a relative path names inside `root`.
 * @throws PathError
 */
export async function openInside(root: string, relative: string): Promise<OpenedFile> {
  return openProven([root], join(root, ...safeSegments(relative)));
}

/**
 * Opens the regular file at an absolute path when it truly lies inside one of `roots`.
 * @throws PathError; `missing` only for a path that would lie inside, so that nothing is learnt about the rest.
 */
export async function openWithin(roots: readonly string[], absolute: string): Promise<OpenedFile> {
  if (!isAbsolute(absolute) || absolute.includes("\0") || absolute.length > MAX_PATH_CHARS) {
    throw new PathError("outside");
  }
  const file = await realpath(absolute).catch(() => null);
  if (file !== null) return openProven(roots, file);
  const folder = await nearestFolder(dirname(absolute));
  throw new PathError(
    (await realRoots(roots)).some((root) => isWithin(root, folder)) ? "missing" : "outside",
  );
}

/**
 * Opens a path that {@link openWithin} returned earlier, if it still is what it was: no part of it a symbolic link.
 * @throws PathError
 */
export function openPinned(path: string): Promise<OpenedFile> {
  return openProven([dirname(path)], path, path);
}

/**
 * First opens, then proves: the opened file is the one that the link-free path inside a root names. A folder that is
 * swapped for a link between check and open can so not lead anywhere.
 */
async function openProven(roots: readonly string[], path: string, pinned?: string): Promise<OpenedFile> {
  const handle = await open(path, OPEN_FLAGS).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ELOOP" || error.code === "EMLINK") throw new PathError("outside");
    if (error.code === "ENXIO" || error.code === "EISDIR") throw new PathError("not-file");
    if (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "ENAMETOOLONG") {
      throw new PathError("missing");
    }
    throw error;
  });
  try {
    const stats = await handle.stat();
    const real = await realpath(path);
    const inside =
      pinned === undefined ? (await realRoots(roots)).some((r) => isWithin(r, real)) : real === pinned;
    if (!inside) throw new PathError("outside");
    if (!stats.isFile()) throw new PathError("not-file");
    const named = await lstat(real);
    if (named.dev !== stats.dev || named.ino !== stats.ino) throw new PathError("outside");
    return { handle, path: real, stats };
  } catch (error) {
    await handle.close();
    throw (error as NodeJS.ErrnoException).code === "ENOENT" ? new PathError("missing") : error;
  }
}

async function realRoots(roots: readonly string[]): Promise<string[]> {
  const found = await Promise.all(roots.map((root) => realpath(root).catch(() => null)));
  return found.filter((root) => root !== null);
}

async function nearestFolder(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  if (real !== null) return real;
  const parent = dirname(path);
  return parent === path ? path : nearestFolder(parent);
}
