import { openRoot } from "../lib/guarded/folder.ts";
import { filesBelow } from "../lib/guarded/tree.ts";
import type { Database } from "../store/sqlite/index.ts";

/** How long an upload may wait for a message that refers to it. */
const MIN_AGE_MS = 24 * 3600 * 1000;

/** Deletes the files below `root` that no message or session of the agent refers to. Resolves to their number. */
export async function sweepMedia(
  db: Database,
  agentId: string,
  root: string,
  now: number,
  signal: AbortSignal,
): Promise<number> {
  const settings = db
    .all<{ text: string }>(
      `SELECT ifnull(image_config, '') || ifnull(video_config, '') AS text FROM sessions
       WHERE agent_id = ? AND (image_config IS NOT NULL OR video_config IS NOT NULL)`,
      [agentId],
    )
    .map((row) => row.text)
    .join("\n");
  let removed = 0;
  const top = await openRoot(root).catch(() => null);
  if (!top) return 0;
  try {
    for await (const { folder, name, path } of filesBelow(top)) {
      if (signal.aborted) break;
      const stats = await folder.stat(name);
      if (!stats?.isFile() || now - Math.max(stats.mtimeMs, stats.ctimeMs) < MIN_AGE_MS) continue;
      if (settings.includes(path)) continue;
      // Asked last: nothing but the call that removes the file comes after it.
      if (db.all("SELECT 1 FROM message_media WHERE agent_id = ? AND path = ? LIMIT 1", [agentId, path])[0]) {
        continue;
      }
      await folder.remove(name).then(
        () => removed++,
        () => {},
      );
    }
  } finally {
    await top.close();
  }
  return removed;
}
