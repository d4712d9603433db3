import type { IncomingMessage } from "node:http";
import { GatewayError } from "@agent-gateway/contract";
import type { Config } from "../config/index.ts";
import { isLoopbackHost } from "../lib/loopback.ts";

/** Guards against DNS rebinding and requests of foreign pages, on loopback too. */
export interface HostGuard {
  /** @throws GatewayError `INVALID_REQUEST` without a `Host` or with two, `FORBIDDEN` when the `Host`, or the `Origin` of a request that changes something, is foreign. */
  check(req: IncomingMessage, changesState: boolean): void;
}

/** `name` as in a `Host` header: an IPv6 address in brackets. */
const isLoopback = (name: string) => isLoopbackHost(name.replace(/^\[(.*)\]$/, "$1"));
const MAX_KNOWN = 100;

/** `host[:port]` in lower case, split; undefined when it is no such thing. */
function split(value: string): { name: string; port: string } | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[^\s:/?#@\\[\]]+)(?::(\d{1,5}))?$/.exec(value.toLowerCase());
  return match ? { name: (match[1] as string).replace(/\.$/, ""), port: match[2] ?? "" } : undefined;
}

/** Which of two a proxy in front has looked at, nobody knows. */
const ONCE = new Set(["host", "authorization", "x-api-key"]);

/** @throws GatewayError `INVALID_REQUEST` when a header that decides who and where is given twice. */
function refuseTwice(rawHeaders: readonly string[]): void {
  let seen = "";
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    if (!ONCE.has(name)) continue;
    if (seen.includes(`${name} `)) {
      throw new GatewayError("INVALID_REQUEST", `The request has more than one ${name} header.`);
    }
    seen += `${name} `;
  }
}

/** `bound` is the address that the server was told to listen on; read once it listens. */
export function createHostGuard(config: () => Config, bound: () => string): HostGuard {
  let source: Config | undefined;
  let names = new Set<string>();
  let origins = new Set<string>();
  let accepted = new Set<string>();

  const refresh = () => {
    source = config();
    names = new Set();
    origins = new Set();
    accepted = new Set();
    const { allowedHosts, publicUrl } = source.gateway;
    const publicHost = publicUrl && URL.canParse(publicUrl) ? [new URL(publicUrl).host] : [];
    for (const entry of [...allowedHosts, ...publicHost]) {
      const host = split(entry);
      if (!host) continue;
      names.add(host.name);
      origins.add(entry.toLowerCase());
    }
    const own = bound().toLowerCase();
    if (own !== "") names.add(own.includes(":") ? `[${own}]` : own);
  };

  const known = (req: IncomingMessage, header: string): boolean => {
    const host = split(header);
    if (!host) return false;
    if (isLoopback(host.name) || names.has(host.name)) return true;
    // Bound to every interface: the address that the connection came in on.
    const local = req.socket.localAddress?.toLowerCase().replace(/^::ffff:/, "");
    return local !== undefined && host.name === (local.includes(":") ? `[${local}]` : local);
  };

  const sameOrigin = (origin: string, host: string): boolean => {
    if (!/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return false;
    const from = new URL(origin).host;
    if (from === host.toLowerCase() || origins.has(from)) return true;
    const [a, b] = [split(from), split(host)];
    return Boolean(a && b && a.port === b.port && isLoopback(a.name) && isLoopback(b.name));
  };

  return {
    check(req, changesState) {
      if (config() !== source) refresh();
      refuseTwice(req.rawHeaders);
      if (req.headers.host === undefined && req.httpVersion === "1.1") {
        throw new GatewayError("INVALID_REQUEST", "The request has no Host header.");
      }
      const host = req.headers.host ?? "";
      if (!accepted.has(host)) {
        if (!known(req, host)) {
          throw new GatewayError(
            "FORBIDDEN",
            "This host name is not the gateway's; see gateway.allowedHosts.",
          );
        }
        if (accepted.size < MAX_KNOWN) accepted.add(host);
      }
      if (!changesState) return;
      const { origin } = req.headers;
      if (origin !== undefined && !sameOrigin(origin, host)) {
        throw new GatewayError("FORBIDDEN", "Pages of another origin may not do this.");
      }
    },
  };
}
