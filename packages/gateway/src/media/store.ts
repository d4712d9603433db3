import { randomUUID } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { GatewayError } from "@agent-gateway/contract";
import { detectType, type FileType, HEAD_BYTES } from "../lib/file-type.ts";
import { CREATE_NEW, openFolder, refuseLinkIn } from "../lib/guarded/index.ts";

/** Where files are written until they are complete; a crash leaves partial files only here. */
const INCOMING = ".incoming";
const refuseLink = refuseLinkIn("the agent's media folder");

export interface StoreRequest {
  /** The agent's media folder; created if missing. */
  root: string;
  content: AsyncIterable<Uint8Array>;
  /** Bytes. */
  limit: number;
  now: number;
  /** Contains the name of the temporary file while it is being written. */
  underWay: Set<string>;
  /** Extension to store the content under; throws to refuse it. Called once, before the file is renamed. */
  accept(found: FileType): string;
}

export const tooLarge = (limit: number): GatewayError =>
  new GatewayError("PAYLOAD_TOO_LARGE", `The file is larger than ${limit} bytes.`);

/**
 * Writes content to a temporary file, checks and syncs it, and renames it to `2026-11/<uuid>.png`, relative to `root`.
 * Leaves nothing behind on failure.
 * @throws GatewayError `PAYLOAD_TOO_LARGE`, `INVALID_REQUEST` when there is no content, whatever `accept` throws
 */
export async function storeContent(request: StoreRequest): Promise<string> {
  const { root, content, limit, now, underWay, accept } = request;
  await using incoming = await openFolder(root, [INCOMING], { create: true }).catch(refuseLink);
  const id = randomUUID();
  underWay.add(id);
  try {
    const file = await incoming.open(id, CREATE_NEW);
    try {
      const head = await writeAll(file, content, limit);
      const ext = accept(detectType(head));
      await file.sync();
      const month = new Date(now).toISOString().slice(0, 7);
      await using folder = await openFolder(root, [month], { create: true }).catch(refuseLink);
      const name = `${id}.${ext}`;
      await incoming.move(id, folder, name);
      await folder.sync();
      return `${month}/${name}`;
    } finally {
      await file.close();
    }
  } catch (error) {
    await incoming.remove(id);
    throw error;
  } finally {
    underWay.delete(id);
  }
}

async function writeAll(
  file: FileHandle,
  content: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Buffer> {
  const head: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of content) {
    if (size < HEAD_BYTES) head.push(chunk.subarray(0, HEAD_BYTES - size));
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    for (let done = 0; done < chunk.length; ) {
      done += (await file.write(chunk, done)).bytesWritten;
    }
  }
  if (size === 0) throw new GatewayError("INVALID_REQUEST", "The body is empty.");
  return Buffer.concat(head);
}

/** More than a crash could leave; the next start continues. */
const MAX_SWEPT = 10_000;

/** Removes files that a crash left half written, except those `underWay`; resolves to their number. */
export async function sweepIncoming(root: string, underWay: ReadonlySet<string>): Promise<number> {
  const incoming = await openFolder(root, [INCOMING]).catch(() => null);
  if (!incoming) return 0;
  let removed = 0;
  try {
    for await (const { name } of incoming.entries(MAX_SWEPT)) {
      if (underWay.has(name)) continue;
      await incoming.remove(name).then(
        () => removed++,
        () => {},
      );
    }
  } finally {
    await incoming.close();
  }
  return removed;
}
