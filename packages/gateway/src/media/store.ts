import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readdir, realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "@agent-gateway/contract";
import { detectType, type FileType, HEAD_BYTES } from "../lib/file-type.ts";
import { isWithin } from "../lib/safe-path.ts";

/** Where files wait until they are whole; a crash leaves them here and nowhere else. */
const INCOMING = ".incoming";

export interface StoreRequest {
  /** The agent's media folder; made when it is missing. */
  root: string;
  content: AsyncIterable<Uint8Array>;
  /** Bytes. */
  limit: number;
  now: number;
  /** Holds the name of the temporary file while it is written. */
  underWay: Set<string>;
  /** Extension to store the content under; throws to refuse it. Called once, before the file gets its name. */
  accept(found: FileType): string;
}

export const tooLarge = (limit: number): GatewayError =>
  new GatewayError("PAYLOAD_TOO_LARGE", `The file is larger than ${limit} bytes.`);

/**
 * Writes content to a temporary file, checks and syncs it, and gives it its name: `2026-11/<uuid>.png`, relative to
 * `root`. Nothing is left behind when that fails.
 * @throws GatewayError `PAYLOAD_TOO_LARGE`, `INVALID_REQUEST` when there is no content, whatever `accept` throws
 */
export async function storeContent(request: StoreRequest): Promise<string> {
  const { root, content, limit, now, underWay, accept } = request;
  const incoming = await folderIn(root, INCOMING);
  const id = randomUUID();
  const temp = join(incoming, id);
  underWay.add(id);
  try {
    const file = await open(temp, "wx", 0o600);
    try {
      const head = await writeAll(file, content, limit);
      const ext = accept(detectType(head));
      await file.sync();
      const month = new Date(now).toISOString().slice(0, 7);
      const folder = await folderIn(root, month);
      const name = `${id}.${ext}`;
      await rename(temp, join(folder, name));
      await syncFolder(folder);
      return `${month}/${name}`;
    } finally {
      await file.close();
    }
  } catch (error) {
    await rm(temp, { force: true });
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

/** A folder of `root`, made when it is missing. Never one that a symbolic link leads out to. */
async function folderIn(root: string, name: string): Promise<string> {
  const folder = join(root, name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (!isWithin(await realpath(root), await realpath(folder))) {
    throw new Error("a folder of the media folder leads out of it");
  }
  return folder;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } catch {
    // Some file systems cannot sync a folder; the rename is then as durable as they make it.
  } finally {
    await folder.close();
  }
}

/** Removes what a crash left half written, but nothing that is `underWay`; resolves to how many there were. */
export async function sweepIncoming(root: string, underWay: ReadonlySet<string>): Promise<number> {
  const names = await readdir(join(root, INCOMING)).catch(() => []);
  const left = names.filter((name) => !underWay.has(name));
  for (const name of left) await rm(join(root, INCOMING, name), { force: true });
  return left.length;
}
