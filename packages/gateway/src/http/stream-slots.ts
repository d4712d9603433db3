import { GatewayError } from "@agent-gateway/contract";
import type { Config } from "../config/index.ts";

/**
 * Counts the event streams of each key (`gateway.api.maxStreams`).
 * @returns takes a slot, which is released at the end of its scope
 * @throws GatewayError `RATE_LIMITED` from the returned function
 */
export function createStreamSlots(config: () => Config): (keyId: string) => Disposable {
  const taken = new Map<string, number>();
  return (keyId) => {
    const count = taken.get(keyId) ?? 0;
    if (count >= config().gateway.api.maxStreams) {
      throw new GatewayError("RATE_LIMITED", "Too many open streams with this key; close one first.", {
        headers: { "retry-after": "1" },
      });
    }
    taken.set(keyId, count + 1);
    return {
      [Symbol.dispose]() {
        const left = (taken.get(keyId) ?? 1) - 1;
        if (left > 0) taken.set(keyId, left);
        else taken.delete(keyId);
      },
    };
  };
}
