import { createHash, randomUUID } from "node:crypto";
import { once } from "../../lib/once.ts";
import { type OAuthDeps, type Outcome, ownedUrl, requireEntry, SWEEP_MS } from "./types.ts";

export { ACCESS, bookKey, isForeign, refreshState } from "./book.ts";
export type { OAuthDeps, OAuthEntry, Outcome } from "./types.ts";

/** A job, as far as its scheduler asks for it. */
interface RefreshJob {
  standing(): Array<{ key: string; payload: unknown }>;
  first(job: unknown, now: number): number;
  next(job: unknown, now: number): number;
  run(job: unknown, signal: AbortSignal): Promise<void>;
}

/**
 * OAuth of connectors whose tokens the gateway itself holds. Nothing of it is loaded before the first sign-in, and
 * without such a connector nothing is done in the background.
 * @param node whose file of secrets it is, where several gateways share a store
 */
export function createOAuth(deps: OAuthDeps, node: string) {
  const signIn = once(async () => (await import("./sign-in.ts")).createSignIn(deps));
  const sweep = once(async () => (await import("./sweep.ts")).createSweep(deps));
  const boot = randomUUID();

  const refresh: RefreshJob = {
    standing() {
      const owned = Object.entries(deps.entries()).flatMap(([id, entry]) => {
        const url = ownedUrl(entry);
        return url === undefined ? [] : [[id, url]];
      });
      if (owned.length === 0) return [];
      // After a start, and when a connector has another address, it runs at once.
      const places = createHash("sha256").update(JSON.stringify(owned)).digest("hex");
      return [{ key: node, payload: { boot, places } }];
    },
    first: (_, now) => now,
    next: (_, now) => now + SWEEP_MS,
    run: async (_, signal) => (await sweep())(signal),
  };

  return {
    /** @throws GatewayError `NOT_FOUND` when there is no such connector */
    require: (id: string): void => void requireEntry(deps.entries(), id),
    /** @throws GatewayError 404, 400, 503 `UNAVAILABLE`, 502 `UPSTREAM_UNAVAILABLE` */
    start: async (id: string, signal?: AbortSignal): Promise<{ authorizeUrl: string }> =>
      (await signIn()).start(id, signal),
    /** What came of the sign-in whose callback a browser has opened. Never rejects. */
    finish: async (query: URLSearchParams): Promise<Outcome> =>
      // Without a sign-in that has begun, this is none either.
      signIn.made ? signIn.made.finish(query) : { code: "expired_link" },
    /** Of the job that refreshes tokens. */
    refresh,
  };
}
export type OAuth = ReturnType<typeof createOAuth>;
