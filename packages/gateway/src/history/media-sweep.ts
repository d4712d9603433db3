import { filesBelow, openRoot } from "../lib/guarded/index.ts";
import type { MediaReferences } from "../store/index.ts";

/** How long an upload may wait for a message that refers to it. */
const MIN_AGE_MS = 24 * 3600 * 1000;

/** Deletes the files below `root` that no message or session of the agent refers to. Resolves to their number. */
export async function sweepMedia(
  references: MediaReferences,
  agentId: string,
  root: string,
  now: number,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  const top = await openRoot(root).catch(() => null);
  if (!top) return 0;
  try {
    for await (const { folder, name, path } of filesBelow(top)) {
      if (signal.aborted) break;
      const stats = await folder.stat(name);
      if (!stats?.isFile() || now - Math.max(stats.mtimeMs, stats.ctimeMs) < MIN_AGE_MS) continue;
      // Asked last: nothing but the call that removes the file comes after it.
      if (await references.isNamed(agentId, path)) continue;
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
