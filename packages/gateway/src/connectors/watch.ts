import { createMutex } from "../lib/mutex.ts";
import { isConnected, type Registry } from "./registry.ts";
import type { TokenFile } from "./token-file.ts";

/** An event of the feed. */
export interface ConnectorEvent {
  type: "connector.connected" | "connector.disconnected";
  data: { connector: string };
}

/**
 * Tells which connectors have become connected, or no longer are, since it last looked. What was connected at the start
 * is not told.
 */
export function createWatch(registry: Registry, tokens: TokenFile, tell: (event: ConnectorEvent) => void) {
  const inTurn = createMutex();
  const look = async () => {
    const connectors = registry();
    const file = connectors.size === 0 ? {} : await tokens.read();
    return new Set([...connectors.values()].filter((one) => isConnected(one, file)).map(({ id }) => id));
  };
  let known: ReadonlySet<string> = new Set();
  void inTurn(async () => {
    known = await look();
  });
  return () =>
    inTurn(async () => {
      const now = await look();
      const before = known;
      known = now;
      for (const connector of before.difference(now))
        tell({ type: "connector.disconnected", data: { connector } });
      for (const connector of now.difference(before))
        tell({ type: "connector.connected", data: { connector } });
    });
}
