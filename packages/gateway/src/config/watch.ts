import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import type { Clock } from "../lib/clock.ts";
import { readText } from "./read-text.ts";

const DEBOUNCE_MS = 100;
/** Catches what a watcher misses: network drives, changed links, a file that was missing for a moment. */
const POLL_MS = 2000;

/** A file's text, and a signature that distinguishes two writes of the same text. */
export interface Snapshot {
  text: string;
  signature: string;
}

async function signatureOf(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found && `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}`;
}

/** Null if the file cannot be read. */
export async function readSnapshot(path: string): Promise<Snapshot | null> {
  // Signature first: the next look finds any later write.
  const signature = await signatureOf(path);
  const text = signature === null ? null : await readText(path).catch(() => null);
  return text === null || signature === null ? null : { text, signature };
}

/**
 * Calls `look` soon after the file may have changed. The watcher is on the file, not on its folder, where the
 * database writes constantly; it is renewed after each change, which may have replaced the file.
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
      // No file at the moment, or no watchers left on this machine: polling finds the change.
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
