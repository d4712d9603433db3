import type { IncomingMessage } from "node:http";
import { GatewayError, type RouteDecl } from "@agent-gateway/contract";
import {
  type Authenticator,
  type DashboardSessions,
  hasLevel,
  type Principal,
  presentedKey,
  principalNow,
  reaches,
  sessionToken,
} from "../auth/index.ts";
import { NOT_HERE, NOT_HERE_HEADERS } from "../lib/not-here.ts";

/** What the guard needs to know of a route. */
export interface Guarded {
  readonly needsKey: boolean;
  readonly decl: Pick<RouteDecl, "auth" | "monitor" | "anyGateway">;
}

export interface GuardDeps {
  authenticator: Authenticator;
  sessions: DashboardSessions;
  agentExists: (agentId: string) => boolean;
  /** False for an agent of another gateway. */
  serves: (agentId: string) => boolean;
  /** True while the server listens on loopback only. */
  onLoopback: () => boolean;
}

export interface Guard {
  /**
   * Identifies the sender of a request and decides whether it may call the route, in the order of contract section 3.
   * @throws GatewayError 401, 403, 404 `AGENT_NOT_FOUND`, 429, 503
   */
  admit(req: IncomingMessage, route: Guarded, agentId: string | undefined): Principal;
  /** Why a principal that was admitted would be refused now; undefined while it would not. */
  judge(principal: Principal, route: Guarded, agentId: string | undefined): GatewayError | undefined;
}

const NOBODY: Principal = Object.freeze({
  kind: "none",
  id: "none",
  keyId: null,
  level: "key",
  agents: new Set<string>(),
});
const OPEN: Principal = Object.freeze({ kind: "open", id: "open", keyId: null, level: "admin", agents: "*" });

/** Guards the routes with the configured keys and the dashboard's sessions. */
export function createGuard({ authenticator, sessions, agentExists, serves, onLoopback }: GuardDeps): Guard {
  const identify = (req: IncomingMessage): Principal | undefined => {
    const key = presentedKey(req.headers);
    if (key) return authenticator.verify(key, req.socket.remoteAddress ?? "");
    const token = sessionToken(req.headers.cookie, req.socket.localPort ?? 0);
    const principal = token === undefined ? undefined : sessions.check(token);
    if (principal) checkSameSite(req);
    return principal;
  };

  const monitor = (req: IncomingMessage): Principal => {
    if (!authenticator.configured()) {
      if (onLoopback()) return OPEN;
      throw new GatewayError("UNAVAILABLE", "Monitoring is closed until an admin key is configured.");
    }
    const principal = identify(req);
    if (principal && hasLevel(principal, "admin")) return principal;
    throw new GatewayError("API_KEY_MISSING", "This requires an admin key or a dashboard login.");
  };

  const lacks = (principal: Principal, route: Guarded, agentId: string | undefined) => {
    if (agentId !== undefined && !reaches(principal, agentId)) {
      return new GatewayError("FORBIDDEN", "This key has no access to this agent.");
    }
    const level = route.decl.monitor ? "admin" : (route.decl.auth as Principal["level"]);
    if (!hasLevel(principal, level)) {
      return new GatewayError("FORBIDDEN", `This requires a key with the level ${level}.`);
    }
    if (agentId === undefined || route.decl.anyGateway || serves(agentId)) return undefined;
    // Whoever removes an agent hears how that went.
    if (!agentExists(agentId)) return undefined;
    return new GatewayError("UNAVAILABLE", NOT_HERE, { headers: NOT_HERE_HEADERS });
  };
  const asNow = (principal: Principal): Principal | undefined => {
    if (principal.kind === "open") return authenticator.configured() ? undefined : principal;
    if (sessions.isOver(principal)) return undefined;
    return principalNow(authenticator, principal);
  };

  return {
    admit(req, route, agentId) {
      if (!route.needsKey) return NOBODY;
      if (route.decl.monitor) return monitor(req);
      const principal = identify(req);
      if (!principal) throw new GatewayError("API_KEY_MISSING");
      if (agentId !== undefined && !agentExists(agentId)) throw new GatewayError("AGENT_NOT_FOUND");
      const error = lacks(principal, route, agentId);
      if (error) throw error;
      return principal;
    },
    judge(principal, route, agentId) {
      const now = asNow(principal);
      return now ? lacks(now, route, agentId) : new GatewayError("API_KEY_INVALID");
    },
  };
}

/**
 * Browsers send cookies on their own, so a request that changes something must come from the gateway's own page.
 * Foreign `Origin`s are refused earlier; this refuses what the browser itself marks as cross-site. A client that sends
 * neither header is not a browser, and somebody gave it the cookie on purpose.
 */
function checkSameSite(req: IncomingMessage): void {
  if (req.method === "GET" || req.method === "HEAD") return;
  const site = req.headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    throw new GatewayError("FORBIDDEN", "Pages from another origin may not do this.");
  }
}
