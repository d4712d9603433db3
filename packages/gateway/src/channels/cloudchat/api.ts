import type { AgentConfig } from "../../config/index.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Asked, below } from "../support/exchange.ts";
import { exchange, type HttpAnswer } from "../support/outcome.ts";

export const PROVIDER = "WhatsApp";
const GRAPH = "https://graph.facebook.com";
/** Source: https://developers.facebook.com/docs/graph-api/changelog */
const VERSION = "v23.0";
/** Hosts of the provider that files lie at. */
const FILE_HOST = /(?:^|\.)(?:facebook\.com|fbcdn\.net|fbsbx\.com|whatsapp\.net|whatsapp\.com)$/;

export type Settings = NonNullable<AgentConfig["cloudchat"]>;

/** Calls of the Graph API, with the number's token. */
export function createApi(settings: Settings, clock: Clock) {
  const base = (settings.apiBaseUrl ?? GRAPH).replace(/(?<!\/)\/+$/, "");
  const root = /\/v\d+\.\d+$/.test(base) ? base : `${base}/${VERSION}`;
  const headers = { authorization: `Bearer ${settings.accessToken ?? ""}` };
  const number = encodeURIComponent(settings.phoneNumberId ?? "");
  const ask = (path: string, init: Asked, signal: AbortSignal, timeoutMs?: number): Promise<HttpAnswer> =>
    exchange(below(root, path), init, { signal, clock, ...(timeoutMs !== undefined && { timeoutMs }) });

  return {
    headers,
    get: (path: string, signal: AbortSignal) => ask(path, { headers }, signal),
    /** Posts to the number's messages: one to send, a reaction, a read receipt. */
    message: (
      body: object,
      signal: AbortSignal,
      { timeoutMs, begin }: { timeoutMs?: number; begin?: () => void } = {},
    ) =>
      ask(
        `${number}/messages`,
        {
          method: "POST",
          headers: { ...headers, "content-type": "application/json" },
          body: JSON.stringify({ messaging_product: "whatsapp", ...body }),
          ...(begin && { begin }),
        },
        signal,
        timeoutMs,
      ),
    /** Uploads a file, which is read from disk as it goes out. */
    upload(file: Blob, name: string, signal: AbortSignal) {
      const form = new FormData();
      form.set("messaging_product", "whatsapp");
      form.set("type", file.type);
      form.set("file", file, name);
      return ask(`${number}/media`, { method: "POST", headers, body: form }, signal);
    },
    /** True for addresses that may see the token: the provider's own over https, and the configured host. */
    trusts(address: string): boolean {
      if (!URL.canParse(address)) return false;
      const { protocol, hostname, host } = new URL(address);
      if (protocol === "https:" && FILE_HOST.test(hostname)) return true;
      return settings.apiBaseUrl !== undefined && host === new URL(settings.apiBaseUrl).host;
    },
  };
}
export type Api = ReturnType<typeof createApi>;
