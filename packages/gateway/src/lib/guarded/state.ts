import { basename, dirname, sep } from "node:path";
import { CHANNEL_IDS } from "@agent-gateway/contract";
import { isInStateFolder, PathError } from "../safe-path.ts";
import { type Folder, openFolder, READ, refuseLinkIn, sweepLeftovers } from "./folder.ts";
import { type OpenedFile, openInside, readStart } from "./read.ts";

/** Channels create no deeper folders; any others belong to the agent. */
const MAX_DEPTH = 3;
const MAX_ENTRIES = 100_000;

const refuseLink = refuseLinkIn("the agent's workspace");

/** An agent's workspace, and the names that lead from there to a state folder or to something in one. */
function placeOf(path: string): { workspace: string; names: string[] } {
  const names = path.split(sep);
  const at = names.findLastIndex(isInStateFolder);
  if (at === -1) return { workspace: path, names: [] };
  return { workspace: names.slice(0, at).join(sep) || sep, names: names.slice(at) };
}

/**
 * Opens a state folder (`<workspace>/.<channel>-state` or one below it), made when it is missing, with mode 0700.
 * @throws GatewayError `CONFLICT`, naming the folder, where a link lies in its place
 */
export async function openState(path: string): Promise<Folder> {
  const { workspace, names } = placeOf(path);
  const folder = await openFolder(workspace, names, { create: true }).catch(refuseLink);
  await folder.setMode(0o700);
  return folder;
}

/** Runs a task in a state folder; undefined if there is none. @throws GatewayError `CONFLICT` for a link */
export async function inState<T>(path: string, task: (folder: Folder) => Promise<T>): Promise<T | undefined> {
  const { workspace, names } = placeOf(path);
  const folder = await openFolder(workspace, names).catch((error) => {
    if (error instanceof PathError && error.problem === "missing") return undefined;
    return refuseLink(error);
  });
  if (!folder) return undefined;
  try {
    return await task(folder);
  } finally {
    await folder.close();
  }
}

/**
 * Writes a file of a state folder whole, or not at all.
 * @param now removes what a crash in mid-write left before, where it is given (Unix ms).
 * @throws GatewayError `CONFLICT`, naming the folder, where a link lies in its place
 */
export async function writeState(file: string, content: string, now?: number): Promise<void> {
  await using folder = await openState(dirname(file));
  const name = basename(file);
  if (now !== undefined) await sweepLeftovers(folder, name, now);
  await folder.write(name, content).catch(refuseLink);
}

/** Opens a file of a state folder; links that stay in the workspace are followed. @throws PathError */
export function openStateFile(file: string): Promise<OpenedFile> {
  const { workspace, names } = placeOf(file);
  return names.length > 0
    ? openInside(workspace, names.join("/"))
    : openInside(dirname(file), basename(file));
}

/** A file of a state folder as text, cut at `maxBytes`; undefined when there is none. @throws PathError */
export async function readStateFile(file: string, maxBytes: number): Promise<string | undefined> {
  try {
    const { handle } = await openStateFile(file);
    try {
      return (await readStart(handle, maxBytes)).toString("utf8");
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof PathError && error.problem === "missing") return undefined;
    throw error;
  }
}

/** Removes a file of a state folder, if it is there. @throws GatewayError `CONFLICT` for a link in the folder's place */
export async function removeState(file: string): Promise<void> {
  await inState(dirname(file), (folder) => folder.remove(basename(file)));
}

/**
 * Removes other users' access to a workspace's state folders and their contents. Follows no links; never rejects.
 */
export async function restrictState(workspace: string): Promise<void> {
  for (const channel of Object.keys(CHANNEL_IDS)) {
    const folder = await openFolder(workspace, [`.${channel}-state`]).catch(() => undefined);
    if (folder)
      await restrict(folder, MAX_DEPTH)
        .catch(() => {})
        .finally(() => folder.close());
  }
}

async function restrict(folder: Folder, depth: number): Promise<void> {
  await folder.setMode(0o700);
  for await (const entry of folder.entries(MAX_ENTRIES)) {
    if (entry.isDirectory() && depth > 0) {
      const inner = await folder.folder(entry.name).catch(() => undefined);
      if (inner) await restrict(inner, depth - 1).finally(() => inner.close());
    } else if (entry.isFile()) {
      const stats = await folder.stat(entry.name);
      if (!stats || (stats.mode & 0o077) === 0) continue;
      const file = await folder.open(entry.name, READ).catch(() => undefined);
      await file?.chmod(0o600).finally(() => file.close());
    }
  }
}
