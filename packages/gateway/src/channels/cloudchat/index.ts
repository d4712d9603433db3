// WhatsApp by the Cloud API. Each part is loaded by what first needs it: only the adapter brings the provider's library.
import type { AdapterFactory } from "../types.ts";

export const createAdapter: AdapterFactory = async (context) =>
  (await import("./adapter.ts")).createAdapter(context);

export const loadWebhook = async () => (await import("./webhook.ts")).webhook;
