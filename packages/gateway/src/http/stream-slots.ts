import { GatewayError } from "@agent-gateway/contract";

/**
 * Counts the open streams of each key, of which there may be `most`.
 * @returns takes a slot, which is released at the end of its scope
 * @throws GatewayError `RATE_LIMITED` from the returned function
 */
export function createStreamSlots(most: () => number): (keyId: string) => Disposable {
  const taken = new Map<string, number>();
  return (keyId) => {
    const count = taken.get(keyId) ?? 0;
    if (count >= most()) {
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
