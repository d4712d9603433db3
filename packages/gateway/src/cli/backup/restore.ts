import { createWriteStream } from "node:fs";
import { chmod, mkdir, readdir, readlink, realpath, rename, rm, symlink, utimes } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createPaths, type Env, type Paths } from "../../config/index.ts";
import { systemClock } from "../../lib/clock.ts";
import { HomeInUseError, lockHome } from "../../lib/home-lock.ts";
import { isWithin } from "../../lib/safe-path.ts";
import type { CopyPlace } from "../../store/index.ts";
import { isDatabaseInUse } from "../database-lock.ts";
import { CliError } from "../errors.ts";
import type { Progress } from "../output.ts";
import { configuredPlace } from "../store-place.ts";
import { checkDatabase, restoreStore } from "./database.ts";
import { DATABASE } from "./manifest.ts";
import { readBackup, type Visitor } from "./read.ts";
import { withScratch } from "./scratch.ts";

export interface RestoreOptions {
  file: string;
  /** Of the home directory to create. */
  paths: Paths;
  env: Env;
  /** Where the rows go; undefined for where the restored configuration says. */
  to: CopyPlace | undefined;
  /** Whether an existing home directory, and a store on Postgres, that are not in use may be moved aside. */
  force: boolean;
  progress: Progress;
}
export interface Restored {
  home: string;
  files: number;
  /** Where the previous home directory is now; null if there was none. */
  movedTo: string | null;
  /** Name of the schema of Postgres in which the rows are that stood where the restored ones are now; null if none were. */
  storeMovedTo: string | null;
  /** Whether a start would use another store than the one that was restored. */
  otherStore: boolean;
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

/** Where the home's own files are while they are in another folder. */
function pathsIn(stage: string, { home, configFile }: Paths, env: Env): Paths {
  const own = isWithin(home, configFile) ? join(stage, relative(home, configFile)) : configFile;
  return createPaths({ ...env, GATEWAY_HOME: stage, GATEWAY_CONFIG: own });
}

const sameStore = (a: CopyPlace, b: CopyPlace) =>
  a.driver === "postgres" && b.driver === "postgres"
    ? a.url === b.url && a.schema === b.schema
    : a.driver === b.driver;

/** Puts what was extracted in place: the rows, then the files. Until both are, no gateway starts on the rows. */
async function putInPlace(
  stage: string,
  present: readonly string[] | null,
  { paths, env, to, force, progress }: RestoreOptions,
): Promise<Pick<Restored, "movedTo" | "storeMovedTo" | "otherStore">> {
  const hasRows = (await namesIn(stage))?.includes(DATABASE) === true;
  if (!hasRows) {
    return { movedTo: await moveInto(stage, paths.home, present), storeMovedTo: null, otherStore: false };
  }
  const configured = await configuredPlace(pathsIn(stage, paths, env), env).catch((error: unknown) => {
    if (to) return to;
    throw new CliError(`${(error as Error).message} Name a store with --to.`);
  });
  const place = to ?? configured;
  const file = join(stage, DATABASE);
  checkDatabase(file);
  const rows = place.driver === "postgres" ? await restoreStore(file, place, force, progress) : undefined;
  try {
    const movedTo = await moveInto(stage, paths.home, present).catch(async (error) => {
      await rows?.undo();
      throw error;
    });
    await rows?.finish();
    return { movedTo, storeMovedTo: rows?.movedTo ?? null, otherStore: !sameStore(place, configured) };
  } finally {
    await rows?.close();
  }
}

/** Keeps gateways from starting on a home that is there; returns what ends that. */
async function lockPresent(home: string, present: readonly string[] | null): Promise<() => Promise<void>> {
  const inUse = new CliError(`A gateway is running with ${home}; stop it first.`);
  if (await isDatabaseInUse(join(home, DATABASE))) throw inUse;
  if (!present || present.length === 0) return async () => {};
  const lock = await lockHome(home, systemClock).catch((error) => {
    throw error instanceof HomeInUseError ? inUse : error;
  });
  return lock.release;
}

/**
 * Restores the home directory and the rows from an archive. Everything is read, checked and written beside what is there
 * first, so that the restore either succeeds completely or changes nothing.
 * @throws CliError
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { file, force, progress } = options;
  const { home } = options.paths;
  const present = await namesIn(home);
  const unlock = await lockPresent(home, present);
  try {
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
    return await withScratch(join(place, ".restore-"), async (stage) => {
      const extracted = await extract(file, stage, progress);
      return { home, ...extracted, ...(await putInPlace(stage, present, options)) };
    });
  } finally {
    await unlock();
  }
}
