import { type FSWatcher, watch } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { Clock } from "../lib/clock.ts";

const DEBOUNCE_MS = 100;
/** Catches what a watcher cannot see: network drives, changed links, a file that was away for a moment. */
const POLL_MS = 2000;

/** A file's text and what tells two writes of the same text apart. */
export interface Snapshot {
  text: string;
  signature: string;
}

async function signatureOf(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found && `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}`;
}

/** Null when the file cannot be read. */
export async function readSnapshot(path: string): Promise<Snapshot | null> {
  // The signature first: a write after it is found by the next look.
  const signature = await signatureOf(path);
  const text = signature === null ? null : await readFile(path, "utf8").catch(() => null);
  return text === null || signature === null ? null : { text, signature };
}

/**
 * Calls `look` soon after the file may have changed. The watcher sits on the file, not on its folder, where the
 * database writes all the time; so it is set anew after each change, which may have put another file in its place.
 * @returns stops it.
 */
export function watchFile(path: string, clock: Clock, look: () => Promise<void>): () => void {
  let watcher: FSWatcher | undefined;
  let last: string | null = null;
  let stopped = false;
  let cancel: (() => void) | undefined;

  function arm(): void {
    watcher?.close();
    try {
      watcher = watch(path, { persistent: false }, soon);
      watcher.on("error", () => watcher?.close());
    } catch {
      // No file for now, or no watcher left on this machine: the poll finds the change.
      watcher = undefined;
    }
  }

  function soon(): void {
    cancel?.();
    cancel = clock.after(DEBOUNCE_MS, async () => {
      cancel = undefined;
      last = await signatureOf(path);
      if (stopped) return;
      arm();
      await look();
    });
  }

  async function poll(): Promise<void> {
    const now = await signatureOf(path);
    if (stopped || now === last) return;
    last = now;
    soon();
  }

  arm();
  const stopPolling = clock.every(POLL_MS, () => void poll());
  return () => {
    stopped = true;
    stopPolling();
    cancel?.();
    watcher?.close();
  };
}
