// LINE. Each part is loaded by what first needs it: only the adapter brings the provider's library.
import type { AdapterFactory } from "../types.ts";
import type { checkToken as check } from "./check.ts";

export const createAdapter: AdapterFactory = async (context) =>
  (await import("./adapter.ts")).createAdapter(context);

export const loadWebhook = async () => (await import("./webhook.ts")).webhook;

export const checkToken: typeof check = async (settings, signal) =>
  (await import("./check.ts")).checkToken(settings, signal);
