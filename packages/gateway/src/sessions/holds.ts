import { GatewayError } from "@agent-gateway/contract";

/** Sessions reserved for something other than a turn; no turn begins in them meanwhile. */
export interface Holds {
  has(sessionId: string): boolean;
  /** Runs `work` while holding the session. Throws `SESSION_BUSY` when it is already held. */
  during<T>(sessionId: string, work: () => Promise<T>): Promise<T>;
  /** The same, but calls `free` to ask the current holder to let go, and waits for it. */
  next<T>(sessionId: string, free: () => Promise<unknown>, work: () => Promise<T>): Promise<T>;
}

/** @param released called when a session is no longer held */
export function createHolds(released: (sessionId: string) => void): Holds {
  const held = new Map<string, Promise<void>>();

  const during = async <T>(sessionId: string, work: () => Promise<T>): Promise<T> => {
    if (held.has(sessionId)) throw new GatewayError("SESSION_BUSY");
    const { promise, resolve } = Promise.withResolvers<void>();
    held.set(sessionId, promise);
    try {
      return await work();
    } finally {
      held.delete(sessionId);
      resolve();
      released(sessionId);
    }
  };

  return {
    has: (sessionId) => held.has(sessionId),
    during,
    async next(sessionId, free, work) {
      for (let other = held.get(sessionId); other; other = held.get(sessionId)) {
        await free();
        await other;
      }
      return during(sessionId, work);
    },
  };
}
