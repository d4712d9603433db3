import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
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
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true, mode: 0o700 });
  return {
    env: { TMPDIR: dir, TMP: dir, TEMP: dir },
    remove: () => rm(dir, { recursive: true, force: true, maxRetries: 3 }).catch(() => {}),
  };
}
