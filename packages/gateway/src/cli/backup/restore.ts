import { createWriteStream } from "node:fs";
import { chmod, mkdir, readdir, readlink, realpath, rename, rm, symlink, utimes } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isWithin } from "../../lib/safe-path.ts";
import { isDatabaseInUse } from "../database-lock.ts";
import { CliError } from "../errors.ts";
import type { Progress } from "../output.ts";
import { checkDatabase } from "./database.ts";
import { DATABASE } from "./manifest.ts";
import { readBackup, type Visitor } from "./read.ts";
import { withScratch } from "./scratch.ts";

export interface RestoreOptions {
  file: string;
  /** The directory to create. */
  home: string;
  /** Whether an existing home directory that is not in use may be moved aside. */
  force: boolean;
  progress: Progress;
}
export interface Restored {
  home: string;
  files: number;
  /** Where the previous home directory is now; null if there was none. */
  movedTo: string | null;
  /** Links that point outside the home directory, which are left out. */
  skippedLinks: string[];
}

/** Linux follows at most this many links on one path. */
const MAX_HOPS = 40;
/** Names that an empty home may contain: this program's compiled code, and what ext4 keeps in a volume's root. */
const NOTHING = new Set(["cache", "lost+found"]);

/** Relevant names in the home directory; null if it does not exist. */
const namesIn = async (home: string): Promise<string[] | null> => {
  try {
    return (await readdir(home)).filter((name) => !NOTHING.has(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
};

/** Writes an archive's contents into an empty folder. Links come last, so that nothing is written through one. */
async function extract(
  file: string,
  stage: string,
  progress: Progress,
): Promise<{ files: number; skippedLinks: string[] }> {
  const folders: { path: string; mode: number; mtime: number }[] = [];
  const visit: Visitor = async (path, { type, mode, mtime, content }) => {
    const target = join(stage, path);
    await mkdir(type === "directory" ? target : dirname(target), { recursive: true, mode: 0o700 });
    if (type === "directory") folders.push({ path: target, mode, mtime });
    if (type !== "file") return;
    await pipeline(
      Readable.from(content),
      createWriteStream(target, { flags: "wx", mode: 0o600, flush: true }),
    );
    // The umask may have removed bits.
    await chmod(target, mode);
    await utimes(target, mtime, mtime);
  };
  const { files, links } = await readBackup(file, visit, progress);
  const skippedLinks: string[] = [];
  const made: string[] = [];
  for (const [path, target] of Object.entries(links)) {
    const at = join(stage, path);
    if (isAbsolute(target) || !isWithin(stage, resolve(dirname(at), target))) skippedLinks.push(path);
    else {
      await symlink(target, at);
      made.push(path);
    }
  }
  // Chained links can point further than their own text says.
  const root = await realpath(stage);
  for (const path of made) {
    const real = await endOf(join(stage, path));
    if (real !== null && isWithin(root, real)) continue;
    await rm(join(stage, path));
    skippedLinks.push(path);
  }
  for (const { path, mode, mtime } of folders.reverse()) {
    await chmod(path, mode);
    await utimes(path, mtime, mtime);
  }
  await chmod(stage, 0o700);
  return { files: Object.keys(files).length, skippedLinks };
}

/** A link's final target, even if nothing is there; null for circular links. */
async function endOf(link: string): Promise<string | null> {
  const left = link.split("/");
  let at = "/";
  for (let hops = 0; left.length > 0; ) {
    const name = left.shift()!;
    const next = join(at, name);
    const target = name === ".." ? null : await readlink(next).catch(() => null);
    if (target === null) at = next;
    else if (++hops > MAX_HOPS) return null;
    else {
      if (isAbsolute(target)) at = "/";
      left.unshift(...target.split("/"));
    }
  }
  return at;
}

/** Moves the restored directory into place; returns where the previous one went. */
async function moveInto(
  stage: string,
  home: string,
  present: readonly string[] | null,
): Promise<string | null> {
  if (present === null) {
    await rename(stage, home);
    return null;
  }
  if (present.length === 0) {
    // An empty home may be a mount point, which can be filled but not replaced.
    for (const name of await readdir(stage)) await rename(join(stage, name), join(home, name));
    return null;
  }
  const aside = `${home}.before-restore-${new Date().toISOString().replace(/[:.]/g, "-")}`;
  await rename(home, aside);
  await rename(stage, home);
  return aside;
}

/**
 * Restores the home directory from an archive. Everything is read, checked and written beside it first, so that the
 * restore either succeeds completely or changes nothing.
 * @throws CliError
 */
export async function restoreBackup({ file, home, force, progress }: RestoreOptions): Promise<Restored> {
  const present = await namesIn(home);
  if (await isDatabaseInUse(join(home, DATABASE))) {
    throw new CliError(`A gateway is running with ${home}; stop it first.`);
  }
  if (present && present.length > 0 && !force) {
    throw new CliError(
      `${home} is not empty; use --force to move it aside, or set GATEWAY_HOME to another directory.`,
    );
  }
  const empty = present?.length === 0;
  const place = empty ? home : dirname(home);
  if (relative(place, resolve(file)) === basename(file) && empty) {
    throw new CliError("The archive is inside the directory to be restored; move it elsewhere.");
  }
  await mkdir(place, { recursive: true, mode: 0o700 });
  return withScratch(join(place, ".restore-"), async (stage) => {
    const extracted = await extract(file, stage, progress);
    if ((await namesIn(stage))?.includes(DATABASE)) checkDatabase(join(stage, DATABASE));
    return { home, ...extracted, movedTo: await moveInto(stage, home, present) };
  });
}
