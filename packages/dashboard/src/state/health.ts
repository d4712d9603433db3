import { signal } from "@preact/signals";
import { client } from "../api/client.ts";

/** True while the gateway refuses to store anything new because its disk is nearly full. */
export const diskLow = signal(false);

export async function loadHealth(abort: AbortSignal): Promise<void> {
  const { disk } = await client.call("health", { signal: abort });
  diskLow.value = disk === "low";
}
