import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";

/**
 * Runs `work` with a new folder (mode 0700), which is removed afterwards, even after Ctrl-C.
 * @param prefix path of the folder; a random suffix is added
 */
export async function withScratch<T>(prefix: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(prefix);
  const leave = () => {
    rmSync(folder, { recursive: true, force: true });
    process.exit(130);
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, leave);
  try {
    return await work(folder);
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, leave);
    await rm(folder, { recursive: true, force: true });
  }
}
