import type { Clock } from "./clock.ts";

/**
 * Lets tasks wait until something happens under a key. Waiting costs a timer and nothing else, and always ends.
 *
 * @example
 * const bell = createBell(clock);
 * await bell.wait("assistant", 60_000, signal); // until somebody calls bell.ring("assistant")
 */
export function createBell(clock: Clock) {
  const waiting = new Map<string, Set<() => void>>();

  return {
    /** Resolves at the next ring, after `ms`, or when `signal` aborts. Never rejects. */
    wait(key: string, ms: number, signal?: AbortSignal): Promise<void> {
      return new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const sleepers = waiting.get(key) ?? new Set();
        waiting.set(key, sleepers);
        const wake = () => {
          cancel();
          signal?.removeEventListener("abort", wake);
          sleepers.delete(wake);
          if (sleepers.size === 0 && waiting.get(key) === sleepers) waiting.delete(key);
          resolve();
        };
        const cancel = clock.after(ms, wake);
        signal?.addEventListener("abort", wake, { once: true });
        sleepers.add(wake);
      });
    },
    ring(key: string): void {
      for (const wake of [...(waiting.get(key) ?? [])]) wake();
    },
    ringAll(): void {
      for (const sleepers of [...waiting.values()]) for (const wake of [...sleepers]) wake();
    },
  };
}
