import { chmod, lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isWithin } from "../lib/safe-path.ts";
import { homeEnvFile, lastGoodFile } from "./paths.ts";
import type { Paths } from "./types.ts";

/** Bits that let a group or everybody read or change a file. */
const OTHERS = 0o077;

/**
 * Takes everybody else's rights to the database, the logs and the configuration in a home that was made with wider
 * ones. Follows no links; what belongs to another user stays as it is. Never rejects.
 */
export async function restrictHome(paths: Paths): Promise<void> {
  // Windows keeps no such modes.
  if (process.platform === "win32") return;
  const logs = await readdir(paths.logs).catch(() => []);
  const files = [
    ...["", "-wal", "-shm", "-journal"].map((end) => paths.database + end),
    ...logs.filter((name) => /\.log(?:\.\d+)?$/.test(name)).map((name) => join(paths.logs, name)),
    lastGoodFile(paths),
    homeEnvFile(paths),
    ...(isWithin(paths.home, paths.configFile) ? [paths.configFile] : []),
  ];
  await Promise.all(
    files.map(async (file) => {
      const stats = await lstat(file).catch(() => null);
      if (stats?.isFile() && (stats.mode & OTHERS) !== 0) await chmod(file, 0o600).catch(() => {});
    }),
  );
}
