import { sep } from "node:path";
import { PathError } from "../safe-path.ts";
import { type Folder, openFolder } from "./folder.ts";

/** Each level below keeps a descriptor open; the gateway's own folders are three deep. */
const MAX_DEPTH = 100;
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
 * Follows no links: of a link, the link alone goes.
 * @param depth So many folders on the way to it, itself among them, may be no links.
 * @throws PathError
 */
export async function removeFolderBelow(
  path: string,
  depth: number,
  { ifEmpty = false } = {},
): Promise<void> {
  const { root, names } = split(path, depth);
  const folder = await openFolder(root, names.slice(0, -1)).catch(whenMissing);
  if (!folder) return;
  try {
    const name = names.at(-1)!;
    if (ifEmpty) await folder.removeFolder(name);
    else await removeTree(folder, name, MAX_DEPTH);
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

async function removeTree(outer: Folder, name: string, depth: number): Promise<void> {
  const stats = await outer.stat(name);
  if (!stats?.isDirectory()) return outer.remove(name);
  if (depth === 0) throw new Error("the folder is deeper than the gateway removes");
  const folder = await outer.folder(name);
  try {
    // Reading a shrinking folder can skip entries, so it is read until nothing is left.
    for (let left = true; left; ) {
      left = false;
      for await (const entry of folder.entries(Number.POSITIVE_INFINITY)) {
        await removeTree(folder, entry.name, depth - 1);
        left = true;
      }
    }
  } finally {
    await folder.close();
  }
  await outer.removeFolder(name);
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
