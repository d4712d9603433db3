import { GatewayError, type RouteDecl } from "@agent-gateway/contract";
import type { Config } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";

const MAX_BUCKETS = 10_000;

interface Bucket {
  tokens: number;
  at: number;
}

type Limit = Config["gateway"]["api"]["rateLimit"];

/** Token buckets by key; the limit may change at any time. */
function createBuckets(limitNow: () => Limit, what: string, clock: Clock): (id: string) => void {
  const buckets = new Map<string, Bucket>();
  return (id) => {
    const limit = limitNow();
    if (limit === false) return;
    const now = clock.elapsed();
    let bucket = buckets.get(id);
    if (!bucket) {
      if (buckets.size >= MAX_BUCKETS) buckets.clear();
      bucket = { tokens: limit.burst, at: now };
      buckets.set(id, bucket);
    }
    const gained = ((now - bucket.at) / 1000) * limit.perSecond;
    bucket.tokens = Math.min(limit.burst, bucket.tokens + gained);
    bucket.at = now;
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return;
    }
    const wait = Math.max(1, Math.ceil((1 - bucket.tokens) / limit.perSecond));
    throw new GatewayError("RATE_LIMITED", `Too many ${what} with this key; try again in ${wait} s.`, {
      headers: { "retry-after": String(wait) },
    });
  };
}

/**
 * Requests per second and key, with a burst (`gateway.api.rateLimit`); uploads have their own limit
 * (`gateway.api.uploadRateLimit`). The returned function takes one token.
 * @throws GatewayError `RATE_LIMITED` from the returned function
 */
export function createRateLimiter(
  config: () => Config,
  clock: Clock,
): (route: { decl: Pick<RouteDecl, "auth" | "rawBody"> }, id: string) => void {
  const requests = createBuckets(() => config().gateway.api.rateLimit, "requests", clock);
  const uploads = createBuckets(() => config().gateway.api.uploadRateLimit, "uploads", clock);
  return ({ decl }, id) => {
    requests(id);
    if (decl.rawBody === "binary" && decl.auth !== "signature") uploads(id);
  };
}
