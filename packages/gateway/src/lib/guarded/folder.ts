import { randomBytes } from "node:crypto";
import { constants, type Dirent, type Stats } from "node:fs";
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  opendir,
  realpath,
  rename,
  rmdir,
  unlink,
} from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "@agent-gateway/contract";
import { PathError } from "../safe-path.ts";
import { asPathError, NO_LINK, requirePlain, TELLS_PATHS, throughDescriptor } from "./open-true.ts";

/**
 * An open folder that was reached without following a link below its root. Operations by name happen in this very
 * folder, even if something else takes its place. The receiver closes it.
 */
export interface Folder extends AsyncDisposable {
  /** The folder of this name, made (mode 0700) when `create`. @throws PathError with `folder` for anything else */
  folder(name: string, options?: { create?: boolean }): Promise<Folder>;
  /** Opens or makes a regular file (mode 0600) that has no other name. @throws PathError */
  open(name: string, flags: number): Promise<FileHandle>;
  /**
   * Replaces a file (mode 0600) so that a reader, or a crash at any moment, finds the old or the new content, whole.
   * @throws PathError `outside` where a link lies
   */
  write(name: string, content: string | Uint8Array): Promise<void>;
  /** Gives a file of this folder a name in another. */
  move(name: string, to: Folder, newName: string): Promise<void>;
  /** Removes a file or a link; a missing one is not a failure. */
  remove(name: string): Promise<void>;
  /** Removes a folder if it is empty. */
  removeFolder(name: string): Promise<void>;
  /** What a name refers to, without following links; undefined if nothing. */
  stat(name: string): Promise<Stats | undefined>;
  /** At most `limit` entries. */
  entries(limit: number): AsyncGenerator<Dirent>;
  setMode(mode: number): Promise<void>;
  /** Makes name changes in this folder durable. */
  sync(): Promise<void>;
  close(): Promise<void>;
  /** For this module only: the path by which the system finds a name in this folder. */
  locate(name: string): Promise<string>;
}

/** Ways to {@link Folder.open} a file. */
export const READ = constants.O_RDONLY;
export const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
export const APPEND = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
const FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Opens a folder that the gateway knows by its path; made with mode 0700 when `create`. @throws PathError */
export async function openRoot(path: string, { create = false } = {}): Promise<Folder> {
  if (create) await mkdir(path, { recursive: true, mode: 0o700 });
  try {
    const truePath = await realpath(path);
    return folderOf(await open(truePath, FOLDER), truePath, "");
  } catch (error) {
    throw asPathError(error);
  }
}

/** The folder that names lead to from `root`, without following a link. @throws PathError */
export async function openFolder(
  root: string,
  names: readonly string[],
  options: { create?: boolean } = {},
): Promise<Folder> {
  let folder = await openRoot(root, options);
  for (const name of names) {
    const outer = folder;
    try {
      folder = await outer.folder(name, options);
    } finally {
      await outer.close();
    }
  }
  return folder;
}

/** Creates a folder, with mode 0700, if it is missing. */
export const makeFolder = (path: string): Promise<void> =>
  openRoot(path, { create: true }).then((folder) => folder.close());

/**
 * Maps a failure to write below a folder, which errors call `where`.
 * @throws GatewayError `CONFLICT`, naming the folder, where a link or a file lies in place of one; else the failure
 */
export const refuseLinkIn =
  (where: string) =>
  (error: unknown): never => {
    const { folder } = error instanceof PathError ? error : {};
    if (folder === undefined) throw error;
    throw new GatewayError(
      "CONFLICT",
      `In ${where}, ${folder} is a symbolic link or something else that the gateway does not write to. ` +
        "Move it away and try again.",
    );
  };

function requireName(name: string): string {
  if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) throw new PathError("invalid");
  return name;
}

/** @param shown how the folder is called in errors, relative to its root; empty for the root itself. */
async function folderOf(handle: FileHandle, path: string, shown: string): Promise<Folder> {
  const own = await handle.stat();
  const locate = async (name: string) => {
    requireName(name);
    if (TELLS_PATHS) return throughDescriptor(handle.fd, name);
    await requirePlain(path, own);
    return join(path, name);
  };
  const shownOf = (name: string) => (shown === "" ? name : `${shown}/${name}`);
  const statOf = async (name: string) => {
    const found = await lstat(await locate(name)).catch(asPathError);
    if (!(found instanceof Error)) return found as Stats;
    if (found instanceof PathError && found.problem === "missing") return undefined;
    throw found;
  };
  const sync = () =>
    handle.sync().catch(() => {
      // Some file systems cannot sync a folder; a rename is then as durable as they make it.
    });

  const openFile = async (name: string, flags: number): Promise<FileHandle> => {
    // Opening a device can have side effects; a pipe may have no other end.
    const before = await statOf(name);
    if (before && !before.isFile()) throw new PathError(before.isSymbolicLink() ? "outside" : "not-file");
    const file = await open(await locate(name), flags | NO_LINK, 0o600).catch((error) => {
      throw asPathError(error);
    });
    const stats = await file.stat();
    if (stats.isFile() && stats.nlink <= 1) return file;
    await file.close();
    throw new PathError(stats.isFile() ? "outside" : "not-file");
  };

  return {
    locate,
    open: openFile,
    sync,
    async folder(name, { create = false } = {}) {
      const place = await locate(name);
      if (create) {
        await mkdir(place, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== "EEXIST") throw error;
        });
      }
      const inner = await open(place, FOLDER | NO_LINK).catch(async (error) => {
        if ((await statOf(name)) === undefined) throw new PathError("missing");
        const known = asPathError(error);
        throw known instanceof PathError ? new PathError("outside", shownOf(name)) : known;
      });
      return folderOf(inner, join(path, name), shownOf(name));
    },
    async write(name, content) {
      if ((await statOf(name))?.isSymbolicLink()) throw new PathError("outside", shownOf(name));
      const temp = `.${name}.${randomBytes(6).toString("hex")}.tmp`;
      const file = await openFile(temp, CREATE_NEW);
      try {
        try {
          // The umask may have removed bits.
          await file.chmod(0o600);
          await file.writeFile(content);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(await locate(temp), await locate(name));
      } catch (error) {
        await unlink(await locate(temp)).catch(() => {});
        throw error;
      }
      await sync();
    },
    async move(name, to, newName) {
      await rename(await locate(name), await to.locate(newName));
    },
    async remove(name) {
      await unlink(await locate(name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
    },
    async removeFolder(name) {
      await rmdir(await locate(name));
    },
    stat: statOf,
    async *entries(limit) {
      // A name of the folder itself: reading it needs a descriptor of its own.
      const entries = await opendir(TELLS_PATHS ? throughDescriptor(handle.fd) : path);
      let count = 0;
      for await (const entry of entries) {
        if (count++ >= limit) return;
        yield entry;
      }
    },
    setMode: (mode) => handle.chmod(mode),
    close: () => handle.close(),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Removes partial writes that a crash left more than a minute before `now` (Unix ms). */
export async function sweepLeftovers(folder: Folder, name: string, now: number): Promise<void> {
  for await (const { name: found } of folder.entries(MAX_SWEPT)) {
    if (!found.startsWith(`.${name}.`) || !found.endsWith(".tmp")) continue;
    const left = await folder.stat(found);
    if (left && now - left.mtimeMs > 60_000) await folder.remove(found);
  }
}
/** Folders with more entries than this are not tidied. */
const MAX_SWEPT = 10_000;
