import { chmod, lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isWithin } from "../lib/safe-path.ts";
import { connectorSecretsFile, homeEnvFile, lastGoodFile } from "./paths.ts";
import type { Paths } from "./types.ts";

/** Mode bits that let a group or everyone read or change a file. */
const OTHERS = 0o077;

/**
 * Removes other users' access to the database, the logs and the configuration in a home created with wider modes.
 * Follows no links; leaves files of other users as they are. Never rejects.
 */
export async function restrictHome(paths: Paths): Promise<void> {
  // Windows has no such modes.
  if (process.platform === "win32") return;
  const logs = await readdir(paths.logs).catch(() => []);
  const files = [
    ...["", "-wal", "-shm", "-journal"].map((end) => paths.database + end),
    ...logs.filter((name) => /\.log(?:\.\d+)?$/.test(name)).map((name) => join(paths.logs, name)),
    lastGoodFile(paths),
    homeEnvFile(paths),
    connectorSecretsFile(paths, {}),
    ...(isWithin(paths.home, paths.configFile) ? [paths.configFile] : []),
  ];
  await Promise.all(
    files.map(async (file) => {
      const stats = await lstat(file).catch(() => null);
      if (stats?.isFile() && (stats.mode & OTHERS) !== 0) await chmod(file, 0o600).catch(() => {});
    }),
  );
}
