import type { IncomingMessage } from "node:http";
import { GatewayError } from "@agent-gateway/contract";
import type { Config } from "../config/index.ts";
import { isLoopbackHost } from "../lib/loopback.ts";

/** Guards against DNS rebinding and cross-origin requests, on loopback too. */
export interface HostGuard {
  /** @throws GatewayError `INVALID_REQUEST` without a `Host` or with two, `FORBIDDEN` for a foreign `Host`, or a foreign `Origin` on a request that changes something. */
  check(req: IncomingMessage, changesState: boolean): void;
}

/** `name` as in a `Host` header: an IPv6 address in brackets. */
const isLoopback = (name: string) => isLoopbackHost(name.replace(/^\[(.*)\]$/, "$1"));
const MAX_KNOWN = 100;

/** `host[:port]` in lower case, split; undefined if malformed. */
function split(value: string): { name: string; port: string } | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[^\s:/?#@\\[\]]+)(?::(\d{1,5}))?$/.exec(value.toLowerCase());
  return match ? { name: (match[1] as string).replace(/\.$/, ""), port: match[2] ?? "" } : undefined;
}

/** If there are two, we cannot know which one a proxy in front checked. */
const ONCE = new Set(["host", "authorization", "x-api-key"]);

/** @throws GatewayError `INVALID_REQUEST` when a header that identifies the sender or the target appears twice. */
function refuseTwice(rawHeaders: readonly string[]): void {
  let seen = "";
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    if (!ONCE.has(name)) continue;
    if (seen.includes(`${name} `)) {
      throw new GatewayError("INVALID_REQUEST", `The request has more than one ${name} header.`, {
        details: [{ path: name, message: "is given more than once" }],
      });
    }
    seen += `${name} `;
  }
}

/** `bound` is the configured listen address; read once the server listens. */
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
    // Bound to every interface: use the address that the connection came in on.
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
        throw new GatewayError("INVALID_REQUEST", "The request has no Host header.", {
          details: [{ path: "host", message: "is required" }],
        });
      }
      const host = req.headers.host ?? "";
      if (!accepted.has(host)) {
        if (!known(req, host)) {
          throw new GatewayError(
            "FORBIDDEN",
            "The gateway does not serve this host name; see gateway.allowedHosts.",
          );
        }
        if (accepted.size < MAX_KNOWN) accepted.add(host);
      }
      if (!changesState) return;
      const { origin } = req.headers;
      if (origin !== undefined && !sameOrigin(origin, host)) {
        throw new GatewayError("FORBIDDEN", "Pages from another origin may not do this.");
      }
    },
  };
}
