import { constants, type Dirent } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import type { TarHeader } from "./tar.ts";

/** One thing below the home directory, with its content when it is a file. */
export interface Found {
  header: TarHeader;
  /** Opened; the receiver closes it. */
  handle?: FileHandle;
}

export interface WalkOptions {
  root: string;
  /** True for a path (relative to the root) to leave out, with everything below it. */
  excludes: (path: string) => boolean;
  /** Called for each path that could not be read. */
  onUnreadable: (path: string) => void;
}

/** Files that disappear while the gateway runs are not failures. */
const isGone = (error: unknown) => ["ENOENT", "ESTALE"].includes((error as NodeJS.ErrnoException).code ?? "");
// A link or pipe that replaces a file after the check is neither followed nor waited for.
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

async function look(root: string, path: string): Promise<Found | null> {
  const file = join(root, path);
  const stats = await lstat(file);
  const base = { name: path, mode: stats.mode & 0o777, size: 0, mtime: stats.mtimeMs / 1000, target: "" };
  if (stats.isDirectory()) return { header: { ...base, type: "directory" } };
  if (stats.isSymbolicLink()) return { header: { ...base, type: "link", target: await readlink(file) } };
  if (!stats.isFile()) return null;
  const handle = await open(file, FLAGS);
  const { size } = await handle.stat();
  return { header: { ...base, type: "file", size }, handle };
}

/** Everything below a folder, parents first, sorted by name. Follows no links. */
export async function* walk({ root, excludes, onUnreadable }: WalkOptions): AsyncGenerator<Found> {
  async function* below(folder: string): AsyncGenerator<Found> {
    let entries: Dirent[];
    try {
      entries = await readdir(join(root, folder), { withFileTypes: true });
    } catch (error) {
      if (!isGone(error)) onUnreadable(folder);
      return;
    }
    for (const { name } of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (excludes(path)) continue;
      let found: Found | null;
      try {
        found = await look(root, path);
      } catch (error) {
        if (!isGone(error)) onUnreadable(path);
        continue;
      }
      if (!found) continue;
      yield found;
      if (found.header.type === "directory") yield* below(path);
    }
  }
  yield* below("");
}
