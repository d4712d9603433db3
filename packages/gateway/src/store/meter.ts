import type { Driver } from "./driver.ts";

/** Kinds of work that a store does, as they are measured. */
export type StoreOperation = "read" | "slow" | "unit" | "search";

/** Gets what the store did. */
export interface StoreMeter {
  did(operation: StoreOperation, ms: number): void;
  failed(): void;
}

/** Whether the store answers, as far as is known without asking it. */
export interface StoreHealth {
  driver: Driver["name"];
  ok: boolean;
  /** Of the latest answer; null before the first. */
  latencyMs: number | null;
}

/** Measures the work of a driver. Nothing waits for that, and nothing takes longer. */
export function createMeter(elapsed: () => number) {
  let meter: StoreMeter | undefined;
  let latest: number | null = null;
  return {
    set: (next: StoreMeter) => {
      meter = next;
    },
    latest: () => latest,
    measured<T>(operation: StoreOperation, work: () => Promise<T>): Promise<T> {
      const began = elapsed();
      const done = work();
      done.then(
        () => {
          const took = elapsed() - began;
          if (operation === "read" || operation === "unit") latest = took;
          meter?.did(operation, took);
        },
        () => meter?.failed(),
      );
      return done;
    },
  };
}
