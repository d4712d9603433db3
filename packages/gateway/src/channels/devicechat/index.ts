// WhatsApp by a linked device. Each part is loaded by what first needs it: only the adapter brings the provider's library.
import type { AdapterContext } from "../types.ts";
import type { DeviceAdapter } from "./types.ts";

export type { DeviceAdapter, DeviceStatus } from "./types.ts";

export const createAdapter = async (context: AdapterContext): Promise<DeviceAdapter> =>
  (await import("./adapter.ts")).createAdapter(context);
