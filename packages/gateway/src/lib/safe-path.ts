import { sep } from "node:path";

/**
 * Why a path is refused: `invalid` is no path that anyone means, `outside` leaves the folder or may (a second hard
 * link, a link where none is followed), `missing` names nothing, `not-file` names a folder, pipe, socket, device or something unreadable.
 */
export type PathProblem = "invalid" | "outside" | "missing" | "not-file";

/** A refused path. The message does not contain the path. */
export class PathError extends Error {
  readonly problem: PathProblem;
  /** The folder, relative to the one that was asked about, that is a link or no folder where one must be. */
  readonly folder: string | undefined;
  constructor(problem: PathProblem, folder?: string) {
    super(`the path is refused: ${problem}`);
    this.name = "PathError";
    this.problem = problem;
    this.folder = folder;
  }
}

export const MAX_PATH_CHARS = 4096;
/** What would be a separator, a dot or a NUL if someone decoded the path once more. */
const ENCODED = /%(?:2e|2f|5c|00)/i;

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
 * True when one of the folders on a path is a state folder of a channel (`.<channel>-state`), in any spelling that a
 * file system which ignores case could take for one.
 */
export function isInStateFolder(path: string): boolean {
  return path.split(sep).some((name) => {
    const plain = name.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
    return /^\.[a-z0-9]+-state$/.test(plain.toLowerCase());
  });
}
