import { randomUUID } from "node:crypto";
import { systemClock } from "../lib/clock.ts";
import { CREATE_NEW, openRoot, readInside } from "../lib/guarded/index.ts";
import { PathError } from "../lib/safe-path.ts";

/** File in each agent's workspace that says which one it is. */
export const MARKER = ".agent-gateway.id";
const MAX_BYTES = 100;
const BEING_WRITTEN_MS = 10_000;
const ID = /^[0-9a-f-]{36}$/;

/** The id in a workspace's marker; undefined where there is none, or none that can be read. */
export async function readMarker(workspace: string): Promise<string | undefined> {
  try {
    const text = (await readInside(workspace, MARKER, MAX_BYTES)).toString("utf8").trim();
    return ID.test(text) ? text : undefined;
  } catch (error) {
    if (error instanceof PathError) return undefined;
    throw error;
  }
}

/** The id of a workspace that the store does not know yet: the one that it has, or a new one. */
export async function ensureMarker(workspace: string): Promise<string | undefined> {
  const known = await readMarker(workspace);
  if (known !== undefined) return known;
  const id = randomUUID();
  await using folder = await openRoot(workspace, { create: true });
  try {
    // Made by one of several that try at once; the others read it.
    await using file = await folder.open(MARKER, CREATE_NEW);
    try {
      await file.writeFile(`${id}\n`);
      await file.sync();
    } catch (error) {
      await folder.remove(MARKER);
      throw error;
    }
  } catch (error) {
    if (error instanceof PathError) return undefined;
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const found = await folder.stat(MARKER);
    // Another gateway may be about to write it; what is older was left by a crash.
    if (found?.isFile() && Math.abs(systemClock.now() - found.mtimeMs) > BEING_WRITTEN_MS)
      await folder.write(MARKER, `${id}\n`);
    return readMarker(workspace);
  }
  await folder.sync();
  return id;
}
