import { GatewayError } from "@agent-gateway/contract";
import type { Config } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";

const MAX_BUCKETS = 10_000;

interface Bucket {
  tokens: number;
  at: number;
}

/**
 * Requests per second and key, with a burst (`gateway.api.rateLimit`). The returned function takes one.
 * @throws GatewayError `RATE_LIMITED` from the returned function
 */
export function createRateLimiter(config: () => Config, clock: Clock): (id: string) => void {
  const buckets = new Map<string, Bucket>();
  return (id) => {
    const limit = config().gateway.api.rateLimit;
    if (limit === false) return;
    const now = clock.now();
    let bucket = buckets.get(id);
    if (!bucket) {
      if (buckets.size >= MAX_BUCKETS) buckets.clear();
      bucket = { tokens: limit.burst, at: now };
      buckets.set(id, bucket);
    }
    // A clock that was set back gives nothing and takes nothing.
    const gained = (Math.max(0, now - bucket.at) / 1000) * limit.perSecond;
    bucket.tokens = Math.min(limit.burst, bucket.tokens + gained);
    bucket.at = now;
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return;
    }
    const wait = Math.max(1, Math.ceil((1 - bucket.tokens) / limit.perSecond));
    throw new GatewayError("RATE_LIMITED", `Too many requests with this key; try again in ${wait} s.`, {
      headers: { "retry-after": String(wait) },
    });
  };
}
