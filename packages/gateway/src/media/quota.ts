import { GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import { filesBelow, openRoot } from "../lib/guarded/index.ts";

/** A folder that seems full is counted again this often at most: files may have been deleted since. */
const RECOUNT_MS = 30_000;

interface Count {
  bytes: number;
  at: number;
  recounting?: Promise<void> | undefined;
}

/** Bytes of the files below a folder; does not follow links, ignores what it cannot read. */
async function sizeOf(path: string): Promise<number> {
  const top = await openRoot(path).catch(() => undefined);
  if (!top) return 0;
  let bytes = 0;
  try {
    for await (const { folder, name } of filesBelow(top)) bytes += (await folder.stat(name))?.size ?? 0;
  } finally {
    await top.close();
  }
  return bytes;
}

/**
 * Limits the size of each agent's media folder (`gateway.media.quotaBytes`). A folder is counted once, at its first
 * file after a start, then updated as files are added, and recounted only when it seems full.
 */
export function createQuota({
  folderOf,
  limit,
  clock,
}: {
  folderOf: (agentId: string) => string;
  limit: () => number;
  clock: Clock;
}) {
  const counts = new Map<string, Promise<Count>>();
  const count = async (agentId: string): Promise<Count> => {
    const at = clock.elapsed();
    return { bytes: await sizeOf(folderOf(agentId)), at };
  };
  const current = (agentId: string): Promise<Count> => {
    const known = counts.get(agentId);
    if (known) return known;
    const counting = count(agentId);
    counts.set(agentId, counting);
    counting.catch(() => counts.delete(agentId));
    return counting;
  };
  const recount = async (agentId: string, known: Count): Promise<void> => {
    const before = known.bytes;
    const { bytes, at } = await count(agentId);
    // What came meanwhile may be among it: rather counted twice than not at all.
    known.bytes = bytes + Math.max(0, known.bytes - before);
    known.at = at;
  };
  /** Looks again at a folder that seems full, unless that was done lately; several files wait for one look. */
  const lookAgain = async (agentId: string, known: Count): Promise<void> => {
    if (clock.elapsed() - known.at < RECOUNT_MS) return;
    known.recounting ??= recount(agentId, known).finally(() => {
      known.recounting = undefined;
    });
    await known.recounting;
  };

  return {
    /**
     * The content, counted as it arrives; bytes that do not become a file must be returned with `release`.
     * @throws GatewayError `QUOTA_EXCEEDED` when it is read, once the folder is full
     */
    async meter(agentId: string, content: AsyncIterable<Uint8Array>) {
      const known = await current(agentId);
      let taken = 0;
      async function* counted() {
        for await (const chunk of content) {
          if (known.bytes + chunk.length > limit()) await lookAgain(agentId, known);
          if (known.bytes + chunk.length > limit()) throw new GatewayError("QUOTA_EXCEEDED");
          known.bytes += chunk.length;
          taken += chunk.length;
          yield chunk;
        }
      }
      return {
        content: counted(),
        release() {
          known.bytes -= taken;
        },
      };
    },
  };
}
