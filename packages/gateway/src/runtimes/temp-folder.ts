import { join } from "node:path";
import { makeFolderBelow, removeFolderBelow } from "../lib/guarded/tree.ts";
import type { Runtime } from "./types.ts";

/**
 * Gives each session's process a folder of its own for what agent programs leave in the temp folder, such as copies
 * of uploaded images: inside the session's, and gone with the process.
 */
export function withTempFolder(runtime: Runtime): Runtime {
  return {
    ...runtime,
    async open(options) {
      const temp = await makeTempFolder(options.sessionDir);
      try {
        const session = await runtime.open({ ...options, env: { ...temp.env, ...options.env } });
        void session.closed.then(temp.remove);
        const close = session.close.bind(session);
        return Object.assign(session, {
          async close() {
            await close();
            await temp.remove();
          },
        });
      } catch (error) {
        await temp.remove();
        throw error;
      }
    },
  };
}

async function makeTempFolder(sessionDir: string) {
  const dir = join(sessionDir, "tmp");
  // A gateway that was killed left it.
  await removeFolderBelow(dir, 1);
  await makeFolderBelow(dir, 1);
  return {
    env: { TMPDIR: dir, TMP: dir, TEMP: dir },
    remove: () => removeFolderBelow(dir, 1).catch(() => {}),
  };
}
