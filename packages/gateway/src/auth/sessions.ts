import { hash, randomBytes } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import type { Principal } from "./principal.ts";

const COOKIE = "agent_gateway_session";
const LIFETIME_MS = 12 * 3600 * 1000;
const MAX_SESSIONS = 1000;

/** Browser logins, so that a page never holds a key. Kept in memory: after a restart, users log in again. */
export interface DashboardSessions {
  /** Starts a session for an admin key; `expiresAt` (Unix ms) is extended with each use. */
  open(keyId: string): { token: string; expiresAt: number };
  /** The session's principal (admin level); undefined if it is unknown, expired, or its key is gone. */
  check(token: string): Principal | undefined;
  close(token: string): void;
}

const ID_PREFIX = "dashboard-";

/** The id of the key that opened a dashboard session, from the id of its principal. */
export const openerOf = (principal: Principal): string => principal.id.slice(ID_PREFIX.length);

interface Session {
  keyId: string;
  expiresAt: number;
}

/** Keeps only the SHA-256 of tokens. `admin` returns the principal of the key that opened a session, if it still has one. */
export function createDashboardSessions({
  clock,
  admin,
}: {
  clock: Clock;
  admin: (keyId: string) => Principal | undefined;
}): DashboardSessions {
  /** By digest, least recently used first. */
  const sessions = new Map<string, Session>();
  const digest = (token: string) => hash("sha256", token, "base64");
  return {
    open(keyId) {
      for (const [key, session] of sessions) {
        if (sessions.size < MAX_SESSIONS && session.expiresAt > clock.now()) break;
        sessions.delete(key);
      }
      const token = randomBytes(32).toString("base64url");
      const expiresAt = clock.now() + LIFETIME_MS;
      sessions.set(digest(token), { keyId, expiresAt });
      return { token, expiresAt };
    },
    check(token) {
      const key = digest(token);
      const session = sessions.get(key);
      if (!session) return undefined;
      sessions.delete(key);
      const opener = admin(session.keyId);
      if (session.expiresAt <= clock.now() || !opener) return undefined;
      session.expiresAt = clock.now() + LIFETIME_MS;
      sessions.set(key, session);
      return { kind: "dashboard", id: `${ID_PREFIX}${session.keyId}`, level: "admin", agents: opener.agents };
    },
    close(token) {
      sessions.delete(digest(token));
    },
  };
}

/** Behind TLS: browsers accept it only from this exact host, over a secure connection. */
export const SESSION_COOKIE = `__Host-${COOKIE}`;
/** Cookies ignore ports, so two gateways on one host need different names. */
const plainCookie = (port: number) => `${COOKIE}_${port}`;

/** The session token in a `Cookie` header, for the gateway that listens on `port`. */
export function sessionToken(cookies: string | undefined, port: number): string | undefined {
  if (!cookies) return undefined;
  const found = new Map<string, string>();
  for (const pair of cookies.split(";")) {
    const equals = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, equals)).trim();
    if (!found.has(name)) found.set(name, pair.slice(equals + 1).trim());
  }
  return found.get(SESSION_COOKIE) || found.get(plainCookie(port)) || undefined;
}

/** `Set-Cookie` value that gives the browser a token, or clears it if `token` is null. */
export function sessionCookie(
  token: string | null,
  { secure, port }: { secure: boolean; port: number },
): string {
  const name = secure ? SESSION_COOKIE : plainCookie(port);
  const flags = `; Path=/; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`;
  return token === null ? `${name}=; Max-Age=0${flags}` : `${name}=${token}${flags}`;
}
