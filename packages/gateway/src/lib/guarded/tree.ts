import { randomUUID } from "node:crypto";
import { sep } from "node:path";
import type { Clock } from "../clock.ts";
import { PathError } from "../safe-path.ts";
import { type Folder, openFolder } from "./folder.ts";

/** Each level below keeps a descriptor open; what lies deeper is moved up first. */
const MAX_DEPTH = 64;
/** A program that is still running may add files faster than they go. */
const REMOVE_MS = 10_000;
const MAX_WALK_DEPTH = 16;
/** Maximum number of files examined in one folder. */
const MAX_ENTRIES = 1_000_000;

const split = (path: string, depth: number) => {
  const names = path.split(sep);
  return { root: names.slice(0, -depth).join(sep), names: names.slice(-depth) };
};

/**
 * Makes a folder, with mode 0700, when it is missing.
 * @param depth So many folders on the way to it, itself among them, may be no links.
 * @throws PathError
 */
export async function makeFolderBelow(path: string, depth: number): Promise<void> {
  const { root, names } = split(path, depth);
  await (await openFolder(root, names, { create: true })).close();
}

/**
 * Removes a folder with all that is in it, or, when `ifEmpty`, only if nothing is. One that is missing is no failure.
 * Follows no links: of a link, the link alone goes. Gives up after `removeMs`, and can be called again.
 * @param depth So many folders on the way to it, itself among them, may be no links.
 * @throws PathError
 */
export async function removeFolderBelow(
  path: string,
  depth: number,
  { ifEmpty = false, removeMs = REMOVE_MS } = {},
): Promise<void> {
  const { root, names } = split(path, depth);
  const folder = await openFolder(root, names.slice(0, -1)).catch(whenMissing);
  if (!folder) return;
  try {
    const name = names.at(-1)!;
    if (ifEmpty) await folder.removeFolder(name);
    else await removeTree(folder, name, performance.now() + removeMs);
  } finally {
    await folder.close();
  }
}

/** The names in a folder, at most `limit`; none when it is missing. See {@link makeFolderBelow}. */
export async function namesBelow(path: string, depth: number, limit: number): Promise<string[]> {
  const { root, names } = split(path, depth);
  const folder = await openFolder(root, names).catch(whenMissing);
  const found: string[] = [];
  if (!folder) return found;
  try {
    for await (const { name } of folder.entries(limit)) found.push(name);
  } finally {
    await folder.close();
  }
  return found;
}

function whenMissing(error: unknown): undefined {
  if (error instanceof PathError && error.problem === "missing") return undefined;
  throw error;
}

/** @param until when to give up, as `performance.now()` tells the time */
async function removeTree(outer: Folder, name: string, until: number): Promise<void> {
  const stats = await outer.stat(name);
  if (!stats?.isDirectory()) return outer.remove(name);
  const top = await outer.folder(name);

  const empty = async (folder: Folder, depth: number): Promise<void> => {
    // Reading a shrinking folder can skip entries, so it is read until nothing is left.
    for (let left = true; left; ) {
      left = false;
      for await (const entry of folder.entries(Number.POSITIVE_INFINITY)) {
        if (performance.now() > until) throw new Error("the folder could not be removed in time");
        left = true;
        await removeEntry(folder, entry.name, depth);
      }
    }
  };
  const removeEntry = async (folder: Folder, entry: string, depth: number): Promise<void> => {
    if (!(await folder.stat(entry))?.isDirectory()) return folder.remove(entry);
    // The loop over the top folder comes by it again.
    if (depth === 0) return folder.move(entry, top, randomUUID());
    const inner = await folder.folder(entry);
    try {
      await empty(inner, depth - 1);
    } finally {
      await inner.close();
    }
    await folder.removeFolder(entry);
  };

  try {
    await empty(top, MAX_DEPTH);
  } finally {
    await top.close();
  }
  await outer.removeFolder(name);
}

/** Later attempts to remove a folder that could not be removed at once. */
const LATER_MS = 30_000;
const MOST_LATER = 20;

/**
 * Removes a folder like {@link removeFolderBelow}. What cannot be removed at once, because a process still writes
 * into it for example, is tried again later. Rejects with the first failure.
 * @param wanted whether it is still to go
 */
export async function removeFolderSoon(
  path: string,
  depth: number,
  clock: Clock,
  wanted: () => boolean = () => true,
): Promise<void> {
  const again = (left: number) => {
    if (left === 0) return;
    clock.after(LATER_MS, () => {
      if (wanted()) removeFolderBelow(path, depth).catch(() => again(left - 1));
    });
  };
  try {
    await removeFolderBelow(path, depth);
  } catch (error) {
    again(MOST_LATER);
    throw error;
  }
}

/** A regular file that {@link filesBelow} came by; `folder` is open for the moment. */
interface Found {
  folder: Folder;
  name: string;
  /** Relative to where the walk began, with slashes. */
  path: string;
}

/** Regular files below an open folder; symbolic links are not followed. */
export async function* filesBelow(folder: Folder, path = "", depth = MAX_WALK_DEPTH): AsyncGenerator<Found> {
  for await (const entry of folder.entries(MAX_ENTRIES)) {
    const { name } = entry;
    if (entry.isFile()) yield { folder, name, path: path + name };
    if (!entry.isDirectory() || depth === 0) continue;
    const inner = await folder.folder(name).catch(() => null);
    if (!inner) continue;
    try {
      yield* filesBelow(inner, `${path}${name}/`, depth - 1);
    } finally {
      await inner.close();
    }
  }
}
