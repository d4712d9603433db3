/** Where Discord's REST API is, unless the settings say otherwise; without its version. */
const API = "https://discord.com/api";
/** Version of the REST API and of the gateway. */
export const API_VERSION = "10";

/** The REST API's address without its version and without a slash at its end. */
export const apiBase = (apiBaseUrl: string | undefined): string =>
  (apiBaseUrl ?? API).replace(/(?<!\/)\/+$/, "").replace(/\/v\d+$/, "");

/** A socket's address as the client wants it: `ws:` or `wss:`, without parameters. Undefined when it is no such URL. */
export function socketUrl(address: string | undefined): string | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const url = new URL(address.replace(/^http/i, "ws"));
  if (url.protocol !== "ws:" && url.protocol !== "wss:") return undefined;
  url.search = "";
  url.hash = "";
  return url.href;
}
