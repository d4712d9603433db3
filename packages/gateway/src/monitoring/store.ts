import { createCounter, createHistogram, type Family } from "./families.ts";

export interface StoreDeps {
  /** Whether the store answers, without asking it. */
  health(): { driver: "sqlite" | "postgres"; ok: boolean; latencyMs: number | null };
  /** Size of SQLite's write-ahead log; undefined with another store. */
  walBytes(): Promise<number | undefined>;
}

/** Seconds. */
const BOUNDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 60];

/** What the store's work costs. */
export function createStoreMetrics({ walBytes }: StoreDeps) {
  const seconds = createHistogram(
    "agent_gateway_store_seconds",
    "How long the store's work took, by what it was.",
    ["operation"],
    BOUNDS,
  );
  const errors = createCounter("agent_gateway_store_errors_total", "Work of the store that failed.");
  errors.add(0);
  const wal: Family = {
    name: "agent_gateway_store_wal_bytes",
    async get() {
      const size = await walBytes();
      return {
        name: this.name,
        help: "Size of SQLite's write-ahead log.",
        type: "gauge",
        values: size === undefined ? [] : [{ labels: {}, value: size }],
      };
    },
  };
  return {
    families: [seconds, errors, wal] as readonly Family[],
    did: (operation: string, ms: number) => seconds.observe(ms / 1000, operation),
    failed: () => errors.add(1),
  };
}
