import { openAsBlob, type Stats } from "node:fs";
import { type FileHandle, lstat, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, sep } from "node:path";
import { CHANNEL_IDS } from "@agent-gateway/contract";
import { isInStateFolder, isWithin, MAX_PATH_CHARS, PathError, safeSegments } from "../safe-path.ts";
import { type OpenedFile, openTrue, TELLS_PATHS, throughDescriptor } from "./open-true.ts";

export type { OpenedFile } from "./open-true.ts";

/** A second name could be one of a file outside. */
function requireOneName(stats: Stats): void {
  if (stats.isFile() && stats.nlink > 1) throw new PathError("outside");
}

/**
 * Opens the regular file at a relative path inside `root`, following only links that stay inside.
 * @param options.mayOpen judges the names on the path, as it was asked for and as it truly is; false is `missing`.
 * @param options.anyNames true for the gateway's own files, which a package manager may have linked.
 * @throws PathError
 */
export async function openInside(
  root: string,
  relative: string,
  {
    mayOpen = () => true,
    anyNames = false,
  }: { mayOpen?: (names: readonly string[]) => boolean; anyNames?: boolean } = {},
): Promise<OpenedFile> {
  const names = safeSegments(relative);
  const folder = await realpath(root).catch(() => null);
  if (folder === null || !mayOpen(names)) throw new PathError("missing");
  return openTrue(join(folder, ...names), (truePath, stats) => {
    if (!isWithin(folder, truePath)) throw new PathError("outside");
    if (!mayOpen(truePath.slice(folder.length + 1).split(sep))) throw new PathError("missing");
    if (!anyNames) requireOneName(stats);
  });
}

/**
 * Opens the regular file at an absolute path, for serving, if it really is inside one of `roots` and not in a
 * channel's state folder.
 * @throws PathError; `missing` only for a path that would be inside, so as to reveal nothing about the rest.
 */
export async function openWithin(roots: readonly string[], absolute: string): Promise<OpenedFile> {
  if (!isAbsolute(absolute) || absolute.includes("\0") || absolute.length > MAX_PATH_CHARS) {
    throw new PathError("outside");
  }
  const folders = await realRoots(roots);
  const mayGive = (path: string) => {
    const around = folders.filter((folder) => isWithin(folder.path, path));
    const secret = around.some(
      ({ path: root, hidden }) =>
        isInStateFolder(path.slice(root.length)) || hidden.some((folder) => isWithin(folder, path)),
    );
    return around.length > 0 && !secret;
  };
  try {
    return await openTrue(absolute, (truePath, stats) => {
      if (!mayGive(truePath)) throw new PathError("outside");
      requireOneName(stats);
    });
  } catch (error) {
    if (!(error instanceof PathError) || error.problem !== "missing") throw error;
    const folder = await nearestFolder(dirname(absolute));
    throw new PathError(mayGive(folder) ? "missing" : "outside");
  }
}

/** Identity of a shared file, as text; a file that replaces it has a different one. */
export const identityOf = ({ dev, ino, birthtimeMs }: Stats): string => {
  // Systems without a creation time report the last change instead.
  const born = process.platform === "linux" || process.platform === "darwin" ? birthtimeMs : 0;
  return `${dev}:${ino}:${born}`;
};

/**
 * Opens a path that was found earlier, if it still is what it was: no part of it a symbolic link, one name alone, and
 * the same file where its {@link identityOf} is given.
 * @throws PathError
 */
export function openPinned(path: string, identity?: string): Promise<OpenedFile> {
  return openTrue(path, (truePath, stats) => {
    if (truePath !== path) throw new PathError("outside");
    requireOneName(stats);
    if (identity !== undefined && identityOf(stats) !== identity) throw new PathError("missing");
  });
}

/** The first `maxBytes` of an open file, as it is now. Leaves the handle open. */
export async function readStart(handle: FileHandle, maxBytes: number): Promise<Buffer> {
  const { size } = await handle.stat();
  const buffer = Buffer.alloc(Math.min(size, maxBytes));
  let at = 0;
  while (at < buffer.length) {
    const { bytesRead } = await handle.read(buffer, at, buffer.length - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return buffer.subarray(0, at);
}

const CHUNK_BYTES = 256 * 1024;

/** The content of an open file. Leaves the handle open, also when the reader goes before the end. */
export async function* contentOf(handle: FileHandle): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; ) {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function startOf(opening: Promise<OpenedFile>, maxBytes: number): Promise<Buffer> {
  const { handle } = await opening;
  try {
    return await readStart(handle, maxBytes);
  } finally {
    await handle.close();
  }
}

/** The first `maxBytes` of a file inside `root`. @throws PathError */
export const readInside = (root: string, relative: string, maxBytes: number): Promise<Buffer> =>
  startOf(openInside(root, relative), maxBytes);

/** The first `maxBytes` of a path that was found earlier; see {@link openPinned}. @throws PathError */
export const readPinned = (path: string, maxBytes: number): Promise<Buffer> =>
  startOf(openPinned(path), maxBytes);

/** The first `maxBytes` of a file that the owner named, wherever it is. @throws PathError unless it is regular */
export const readNamed = (path: string, maxBytes: number): Promise<Buffer> =>
  startOf(
    openTrue(path, () => {}),
    maxBytes,
  );

/**
 * What a blob of an open file reads as it is sent: the file itself, whatever takes its place. The handle stays open
 * until the blob was read.
 */
export const blobOf = ({ handle, path }: OpenedFile, type?: string): Promise<Blob> =>
  openAsBlob(TELLS_PATHS ? throughDescriptor(handle.fd) : path, type === undefined ? {} : { type });

/** A folder that files may come from, and where links in place of its state folders lead. */
interface Root {
  path: string;
  hidden: string[];
}

async function realRoots(roots: readonly string[]): Promise<Root[]> {
  const found = await Promise.all(
    roots.map(async (root) => {
      const path = await realpath(root).catch(() => null);
      return path === null ? null : { path, hidden: await hiddenIn(path) };
    }),
  );
  return found.filter((root) => root !== null);
}

async function hiddenIn(root: string): Promise<string[]> {
  const targets = Object.keys(CHANNEL_IDS).map(async (channel) => {
    const folder = join(root, `.${channel}-state`);
    const isLink = await lstat(folder).then(
      (stats) => stats.isSymbolicLink(),
      () => false,
    );
    return isLink ? realpath(folder).catch(() => null) : null;
  });
  return (await Promise.all(targets)).filter((target) => target !== null);
}

async function nearestFolder(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  if (real !== null) return real;
  const parent = dirname(path);
  return parent === path ? path : nearestFolder(parent);
}
