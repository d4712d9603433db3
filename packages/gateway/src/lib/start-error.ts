import { PathError } from "./safe-path.ts";

/** Something on disk keeps the gateway from starting. The message says what, why, and what to do. */
export class StartError extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "the gateway has no permission",
  EPERM: "the gateway has no permission",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
  EEXIST: "a file is where a folder should be",
  ENOTDIR: "a file is where a folder should be",
  EISDIR: "a folder is where a file should be",
  ELOOP: "it is a link that leads nowhere",
  ENXIO: "it is not a regular file",
};
/** Result codes of https://www.sqlite.org/rescode.html. */
const SQLITE_REASONS: Readonly<Record<number, string>> = {
  8: "it cannot be written",
  11: "it is damaged",
  13: "the disk is full",
  26: "it is not a database",
};

/** Why something on disk cannot be used; undefined for an error that is about something else. */
export function diskProblem(error: unknown): string | undefined {
  if (error instanceof PathError) return "it is not a regular file";
  const { code, errcode } = error as { code?: unknown; errcode?: number };
  if (code === "ERR_SQLITE_ERROR") return SQLITE_REASONS[(errcode ?? 0) & 0xff] ?? "it cannot be opened";
  return typeof code === "string" ? REASONS[code] : undefined;
}

/**
 * Does a part of the start.
 * @param say the message for a problem on disk, given the reason
 * @throws StartError
 */
export async function startWith<T>(
  exitCode: number,
  say: (reason: string) => string,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = diskProblem(error);
    throw reason === undefined ? error : new StartError(say(reason), exitCode);
  }
}
