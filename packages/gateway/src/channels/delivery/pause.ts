/** Applies even if the provider asks for no pause at all. */
const LEAST_MS = 250;
const FIRST_MS = 1_000;
const MAX_MS = 30_000;

/**
 * Milliseconds before a message is tried again: those that the provider asked for, or more after each failure, with
 * jitter, so that many chats do not resume at the same moment.
 */
export function pauseBefore(failures: number, askedMs: number | undefined): number {
  const backoff = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures, 20));
  return Math.max(LEAST_MS, askedMs ?? backoff * (0.75 + Math.random() / 2));
}
