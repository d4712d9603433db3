import { performance } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";

const LOOK_EVERY_MS = 1_000;
/** Share of the time in which this thread was busy. */
const IDLE_BELOW = 0.02;
/** Less than this is not worth a pause of about 20 ms. */
const WORTH_BYTES = 8 * 1024 * 1024;

/**
 * Collects garbage when this thread is idle: V8 itself waits for further allocations, which may never come on an idle
 * gateway, and keeps what the last burst left. Does nothing if the collector is not exposed.
 */
export function collectWhenIdle(): void {
  const collect = globalThis.gc as ((options: object) => void) | undefined;
  if (!collect) return;
  let last = performance.eventLoopUtilization();
  let settled = 0;
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    if (utilization > IDLE_BELOW || getHeapStatistics().total_heap_size < settled + WORTH_BYTES) return;
    collect({ type: "major", flavor: "last-resort" });
    settled = getHeapStatistics().total_heap_size;
  }, LOOK_EVERY_MS).unref();
}
