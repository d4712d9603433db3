import type { Clock } from "../lib/clock.ts";
import { addressGroup } from "../lib/ip.ts";

/** Failed authentications allowed per address and minute. */
const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 10_000;

/** Counts failed authentications by address. */
export interface Throttle {
  /** Seconds that `address` must wait; 0 if it may try. */
  wait(address: string): number;
  /** Records a failure. */
  failed(address: string): void;
}

/** A minute starts with an address's first failure. The map is bounded: the oldest address is dropped first. */
export function createThrottle(clock: Clock): Throttle {
  const windows = new Map<string, { until: number; failures: number }>();
  const current = (key: string) => {
    const window = windows.get(key);
    if (window && window.until > clock.elapsed()) return window;
    if (window) windows.delete(key);
    return undefined;
  };
  return {
    wait(address) {
      const window = current(addressGroup(address));
      if (!window || window.failures < MAX_FAILURES) return 0;
      return Math.max(1, Math.ceil((window.until - clock.elapsed()) / 1000));
    },
    failed(address) {
      const key = addressGroup(address);
      const window = current(key);
      if (window) {
        window.failures++;
        return;
      }
      if (windows.size >= MAX_ADDRESSES) {
        const oldest = windows.keys().next();
        if (!oldest.done) windows.delete(oldest.value);
      }
      windows.set(key, { until: clock.elapsed() + WINDOW_MS, failures: 1 });
    },
  };
}
