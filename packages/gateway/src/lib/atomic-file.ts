import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, readdir, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/** The final target of a chain of symbolic links, even if it does not exist yet. */
async function target(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const link = await readlink(path).catch(() => null);
    return link === null ? path : resolve(dirname(path), link);
  }
}

async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined;
  try {
    folder = await open(path, constants.O_RDONLY);
    await folder.sync();
  } catch {
    // Some file systems cannot sync a folder; the rename is then as durable as they make it.
  } finally {
    await folder?.close();
  }
}

/** Writes and syncs a new file beside `path`; returns its name. */
export async function writeBeside(
  path: string,
  text: string,
  mode: number,
  owner?: number[],
): Promise<string> {
  const temp = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
  const file = await open(temp, "wx", mode);
  try {
    // The umask may have removed bits that the existing file had.
    await file.chmod(mode);
    if (owner) await file.chown(owner[0]!, owner[1]!).catch(() => {});
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return temp;
}

/**
 * Replaces a file so that a reader, or a crash at any moment, finds the old or the new text, whole. Follows symbolic
 * links and keeps the owner. `mode` is that of a new file; an existing file keeps its own unless `forceMode`.
 */
export async function writeFileAtomic(
  path: string,
  text: string,
  options: { mode?: number; forceMode?: boolean } = {},
): Promise<void> {
  const file = await target(path);
  const old = await stat(file).catch(() => null);
  const fallback = options.mode ?? 0o600;
  const mode = old && !options.forceMode ? old.mode & 0o777 : fallback;
  const owner = old && old.uid !== process.getuid?.() ? [old.uid, old.gid] : undefined;
  const temp = await writeBeside(file, text, mode, owner);
  try {
    await rename(temp, file);
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
  await syncFolder(dirname(file));
}

/** Removes what a crash in mid-write left beside `path` more than a minute before `now` (Unix ms). */
export async function sweepTemporary(path: string, now: number): Promise<void> {
  const file = await target(path);
  const folder = dirname(file);
  const prefix = `.${basename(file)}.`;
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(prefix) || !name.endsWith(".tmp")) continue;
    const left = await stat(join(folder, name)).catch(() => null);
    if (left && now - left.mtimeMs > 60_000) await rm(join(folder, name), { force: true });
  }
}
