import { GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import { openRoot } from "../lib/guarded/folder.ts";
import { filesBelow } from "../lib/guarded/tree.ts";

/** A full folder is counted again this often at most: files may have been deleted since. */
const RECOUNT_MS = 30_000;

interface Count {
  bytes: number;
  at: number;
  /** True once a file found no room. */
  full: boolean;
}

/** Bytes of the files below a folder; links are not followed, what cannot be read counts nothing. */
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
 * Bounds the bytes of each agent's media folder (`gateway.media.quotaBytes`). A folder is counted once, at its first
 * file after a start, and from then on by what is added; again only when it seems to be full.
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
  const count = async (agentId: string): Promise<Count> => ({
    bytes: await sizeOf(folderOf(agentId)),
    at: clock.now(),
    full: false,
  });
  const current = async (agentId: string): Promise<Count> => {
    const counting = counts.get(agentId) ?? count(agentId);
    counts.set(agentId, counting);
    const known = await counting;
    if (!known.full || clock.now() - known.at < RECOUNT_MS) return known;
    // Others may have begun to count meanwhile.
    if (counts.get(agentId) === counting) counts.set(agentId, count(agentId));
    return counts.get(agentId) as Promise<Count>;
  };

  return {
    /**
     * The content as it comes, counted; what does not become a file is to be given back with `release`.
     * @throws GatewayError `QUOTA_EXCEEDED` when it is read, once the folder is full
     */
    async meter(agentId: string, content: AsyncIterable<Uint8Array>) {
      const known = await current(agentId);
      let taken = 0;
      async function* counted() {
        for await (const chunk of content) {
          if (known.bytes + chunk.length > limit()) {
            known.full = true;
            throw new GatewayError("QUOTA_EXCEEDED");
          }
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
