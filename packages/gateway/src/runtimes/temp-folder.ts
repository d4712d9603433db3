import { join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { makeFolderBelow, removeFolderBelow, removeFolderSoon } from "../lib/guarded/index.ts";
import { releasedWith } from "./released.ts";
import type { Runtime } from "./types.ts";

/**
 * Gives each session's process a folder of its own for what agent programs leave in the temp folder, such as copies
 * of uploaded images: inside the session's, and gone with the process.
 */
export function withTempFolder(runtime: Runtime): Runtime {
  return {
    ...runtime,
    async open(options) {
      const temp = await makeTempFolder(options.sessionDir, options.clock);
      try {
        const session = await runtime.open({ ...options, env: { ...temp.env, ...options.env } });
        return releasedWith(session, temp.remove);
      } catch (error) {
        await temp.remove();
        throw error;
      }
    },
  };
}

/** By its path, whose folder it is; `removal` once that is going. */
const owners = new Map<string, { removal?: Promise<void> }>();

async function makeTempFolder(sessionDir: string, clock: Clock) {
  const dir = join(sessionDir, "tmp");
  const before = owners.get(dir);
  const own: { removal?: Promise<void> } = {};
  owners.set(dir, own);
  await before?.removal;
  // A gateway that was killed left it, or a process that is still ending.
  await removeFolderBelow(dir, 1);
  await makeFolderBelow(dir, 1);
  const removeNow = async () => {
    await removeFolderSoon(dir, 1, clock, () => !owners.has(dir)).catch(() => {});
    if (owners.get(dir) === own) owners.delete(dir);
  };
  return {
    env: { TMPDIR: dir, TMP: dir, TEMP: dir },
    /** Leaves it to the session's next process when that has it already. */
    async remove() {
      if (owners.get(dir) === own) own.removal ??= removeNow();
      await own.removal;
    },
  };
}
