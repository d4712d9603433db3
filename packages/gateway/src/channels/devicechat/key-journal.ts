import type { FileHandle } from "node:fs/promises";
import { APPEND, type Folder, readStart } from "../../lib/guarded/index.ts";
import { createMutex } from "../../lib/mutex.ts";

/** A line of the file: changes that belong together, `null` removes. */
type Change = readonly (readonly [key: string, value: string | null])[];

/** Texts by key, kept in memory and in one file that is only added to. */
export interface KeyJournal {
  get(key: string): string | undefined;
  /** Texts of all keys that begin with `prefix`, oldest first. */
  all(prefix: string): string[];
  /** All or none of the changes; resolves when they are on disk. Changes that wait together share one sync. */
  set(change: Change): Promise<void>;
  close(): Promise<void>;
}

/** Far more than the keys of a linked device; a larger file is not one of ours. */
const MAX_BYTES = 128 * 1024 * 1024;
/** Smaller files are never rewritten. */
const MIN_GARBAGE_BYTES = 1 << 20;

function parseLine(line: string): Change | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return Array.isArray(value) ? (value as Change) : undefined;
  } catch {
    return undefined;
  }
}

function apply(map: Map<string, string>, change: Change): void {
  for (const [key, value] of change) {
    if (value === null) map.delete(key);
    else map.set(key, value);
  }
}

/**
 * Opens the journal. A line that a crash cut off is dropped: nobody was told that it is stored.
 * @param folder Closed with the journal, also when this rejects.
 * @param name Of the file, made with mode 0600 when it is not there.
 */
export async function openKeyJournal(folder: Folder, name: string): Promise<KeyJournal> {
  try {
    return await openIn(folder, name);
  } catch (error) {
    await folder.close();
    throw error;
  }
}

async function openIn(folder: Folder, name: string): Promise<KeyJournal> {
  const locked = createMutex();
  const entries = new Map<string, string>();
  let size = 0;
  let handle: FileHandle = await folder.open(name, APPEND);
  if ((await handle.stat()).size > MAX_BYTES) {
    await handle.close();
    throw new Error("the keys of the linked device are larger than they can be");
  }
  const text = await readStart(handle, MAX_BYTES);
  for (;;) {
    const end = text.indexOf(10, size);
    const change = end === -1 ? undefined : parseLine(text.toString("utf8", size, end));
    if (!change) break;
    apply(entries, change);
    size = end + 1;
  }
  let waiting: { changes: Change[]; done: Promise<void> } | undefined;
  let broken: unknown;
  if (size < text.length) await handle.truncate(size);
  let live = snapshot().length;

  function snapshot(): string {
    return [...entries].map((entry) => `${JSON.stringify([entry])}\n`).join("");
  }

  async function compact(): Promise<void> {
    const whole = snapshot();
    await folder.write(name, whole);
    const fresh = await folder.open(name, APPEND);
    await handle.close();
    handle = fresh;
    size = Buffer.byteLength(whole);
    live = size;
  }

  async function append(changes: readonly Change[]): Promise<void> {
    if (broken !== undefined) throw broken;
    const lines = changes.map((change) => `${JSON.stringify(change)}\n`).join("");
    try {
      await handle.appendFile(lines);
      await handle.datasync();
    } catch (error) {
      // Half a line must not stand before a whole one.
      await handle.truncate(size).catch((failure: unknown) => {
        broken = failure;
      });
      throw error;
    }
    size += Buffer.byteLength(lines);
    for (const change of changes) apply(entries, change);
    if (size > MIN_GARBAGE_BYTES + 2 * live) await compact();
  }

  if (size > MIN_GARBAGE_BYTES + 2 * live) await compact();
  return {
    get: (key) => entries.get(key),
    all: (prefix) => [...entries].filter(([key]) => key.startsWith(prefix)).map(([, value]) => value),
    set(change) {
      if (!waiting) {
        const batch = { changes: [] as Change[], done: Promise.resolve() };
        batch.done = locked(() => {
          waiting = undefined;
          return append(batch.changes);
        });
        waiting = batch;
      }
      waiting.changes.push(change);
      return waiting.done;
    },
    close: () => locked(() => handle.close().finally(() => folder.close())),
  };
}
