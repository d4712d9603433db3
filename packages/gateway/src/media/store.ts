import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readdir, realpath, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
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
export async function storeContent({ root, content, limit, now, accept }: StoreRequest): Promise<string> {
  const incoming = await folderIn(root, INCOMING);
  const id = randomUUID();
  const temp = join(incoming, id);
  const file = await open(temp, "wx", 0o600);
  try {
    let head: Buffer;
    try {
      head = await writeAll(file, content, limit);
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

/** Removes what a crash left half written. Only for the start: it does not spare uploads that are on their way. */
export async function sweepIncoming(root: string): Promise<number> {
  const left = await readdir(join(root, INCOMING)).catch(() => []);
  for (const name of left) await rm(join(root, INCOMING, name), { force: true });
  return left.length;
}

/** Every stored file as a media path, month by month. */
export async function* storedFiles(root: string): AsyncGenerator<string> {
  for (const month of await readdir(root, { withFileTypes: true }).catch(() => [])) {
    if (!month.isDirectory() || month.name.startsWith(".")) continue;
    for (const file of await readdir(join(root, month.name), { withFileTypes: true })) {
      if (file.isFile()) yield `${month.name}/${file.name}`;
    }
  }
}

/** Folder of a media path's file. */
export const folderOf = (root: string, mediaPath: string): string => dirname(join(root, mediaPath));
