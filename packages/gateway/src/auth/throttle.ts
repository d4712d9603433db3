import type { Clock } from "../lib/clock.ts";

/** Failed authentications that one address may have in a minute (contract section 11). */
const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 10_000;

/** Counts failed authentications by address. */
export interface Throttle {
  /** Seconds that `address` must wait, 0 when it may try. */
  wait(address: string): number;
  /** Notes a failure. */
  failed(address: string): void;
}

/** One household or server commands a whole /64 of IPv6, so that is what counts as an address. */
function group(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped) return mapped[1] as string;
  if (!address.includes(":") || address.includes("::")) return address;
  return address.split(":").slice(0, 4).join(":");
}

/** A minute begins with an address's first failure. The map is bounded: the address seen first goes first. */
export function createThrottle(clock: Clock): Throttle {
  const windows = new Map<string, { until: number; failures: number }>();
  const current = (key: string) => {
    const window = windows.get(key);
    if (window && window.until > clock.now()) return window;
    if (window) windows.delete(key);
    return undefined;
  };
  return {
    wait(address) {
      const window = current(group(address));
      if (!window || window.failures < MAX_FAILURES) return 0;
      return Math.max(1, Math.ceil((window.until - clock.now()) / 1000));
    },
    failed(address) {
      const key = group(address);
      const window = current(key);
      if (window) {
        window.failures++;
        return;
      }
      if (windows.size >= MAX_ADDRESSES) {
        const oldest = windows.keys().next();
        if (!oldest.done) windows.delete(oldest.value);
      }
      windows.set(key, { until: clock.now() + WINDOW_MS, failures: 1 });
    },
  };
}
