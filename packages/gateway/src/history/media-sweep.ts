import type { Dirent } from "node:fs";
import { lstat, opendir, realpath, unlink } from "node:fs/promises";
import { join, sep } from "node:path";
import type { Database } from "../db/index.ts";
import { isWithin } from "../lib/safe-path.ts";

/** An upload may wait so long for the message that refers to it. */
const MIN_AGE_MS = 24 * 3600 * 1000;

/** Deletes the files below `root` that no message or session of the agent refers to. Resolves to their number. */
export async function sweepMedia(
  db: Database,
  agentId: string,
  root: string,
  now: number,
  signal: AbortSignal,
): Promise<number> {
  const real = await realpath(root).catch(() => null);
  if (real === null) return 0;
  const settings = db
    .all<{ text: string }>(
      `SELECT ifnull(image_config, '') || ifnull(video_config, '') AS text FROM sessions
       WHERE agent_id = ? AND (image_config IS NOT NULL OR video_config IS NOT NULL)`,
      [agentId],
    )
    .map((row) => row.text)
    .join("\n");
  let removed = 0;
  for await (const path of filesBelow(real, "")) {
    if (signal.aborted) break;
    const file = join(real, path);
    const stats = await lstat(file).catch(() => null);
    if (!stats?.isFile() || now - Math.max(stats.mtimeMs, stats.ctimeMs) < MIN_AGE_MS) continue;
    const media = path.split(sep).join("/");
    if (settings.includes(media)) continue;
    const target = await realpath(file).catch(() => null);
    if (target === null || !isWithin(real, target)) continue;
    // Asked last: nothing waits between this and the call that removes the file.
    if (db.all("SELECT 1 FROM message_media WHERE agent_id = ? AND path = ? LIMIT 1", [agentId, media])[0]) {
      continue;
    }
    await unlink(target).then(
      () => removed++,
      () => {},
    );
  }
  return removed;
}

/** Paths of regular files relative to `root`; symbolic links are not followed. */
async function* filesBelow(root: string, folder: string): AsyncGenerator<string> {
  const entries: AsyncIterable<Dirent> | null = await opendir(join(root, folder)).catch(() => null);
  if (!entries) return;
  for await (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(root, path);
    else if (entry.isFile()) yield path;
  }
}
