import { hash, randomBytes } from "node:crypto";
import { GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import { parseCookies } from "../lib/cookies.ts";
import type { Logger } from "../lib/logger.ts";
import type { Authenticator } from "./authenticator.ts";
import type { Principal } from "./principal.ts";

const COOKIE = "agent_gateway_session";
const LIFETIME_MS = 12 * 3600 * 1000;
const MAX_SESSIONS = 1000;

/** Browser logins, so that a page never holds a key. They survive a restart. */
export interface DashboardSessions {
  /** Reads the logins of earlier runs. */
  load(): Promise<void>;
  /**
   * Starts a session for an admin key; `expiresAt` (Unix ms) is extended with each use. If it cannot be stored, it ends
   * with this run: whoever has to make room on a full disk must be able to log in.
   */
  open(keyId: string): Promise<{ token: string; expiresAt: number }>;
  /** The session's principal (admin level); undefined if it is unknown, expired, or its key is gone. */
  check(token: string): Principal | undefined;
  /** Whether the session that a principal speaks through is over. Looking does not extend it. */
  isOver(principal: Principal): boolean;
  /**
   * Ends the session at once; resolves when it cannot come back after a restart.
   * @throws GatewayError `UNAVAILABLE` when that could not be stored.
   */
  close(token: string): Promise<void>;
}

/** A login as stored: the SHA-256 of its token in base64, the key that opened it, and when it expires (Unix ms). */
export interface Login {
  digest: string;
  keyId: string;
  expiresAt: number;
}

/** Where the logins are stored. */
export interface LoginRows {
  all(): Promise<Login[]>;
  /** Stores a login, or its new time. */
  keep(login: Login): Promise<unknown>;
  remove(digests: readonly string[]): Promise<unknown>;
}

const ID_PREFIX = "dashboard-";
/** Each use extends a session; its row follows in steps of this size. */
const SAVE_EVERY_MS = 600_000;

/** The id of the key that opened a dashboard session, from the id of its principal. */
export const openerOf = (principal: Principal): string => principal.id.slice(ID_PREFIX.length);

/** The principal as the configuration has it by now; undefined when its key is gone. */
export const principalNow = (
  keys: Pick<Authenticator, "find" | "admin">,
  principal: Principal,
): Principal | undefined =>
  principal.kind === "dashboard" ? keys.admin(openerOf(principal)) : keys.find(principal.id);

interface Session extends Login {
  /** `expiresAt` as stored. */
  saved: number;
}

/** Keeps only the SHA-256 of tokens. `admin` returns the principal of the key that opened a session, if it still has one. */
export function createDashboardSessions({
  clock,
  log,
  rows,
  admin,
}: {
  clock: Clock;
  log: Logger;
  rows: LoginRows;
  admin: (keyId: string) => Principal | undefined;
}): DashboardSessions {
  /** By digest, least recently used first. */
  const sessions = new Map<string, Session>();
  /** Closed, but their rows could not be removed. */
  const undead = new Set<string>();
  const digestOf = (token: string) => hash("sha256", token, "base64");
  const keep = async ({ digest, keyId, expiresAt }: Session) => {
    try {
      await rows.keep({ digest, keyId, expiresAt });
      // It may have been closed while it was being stored.
      if (!sessions.has(digest)) await rows.remove([digest]);
    } catch (error) {
      log.warn({ err: error }, "could not store a dashboard login; it ends with the gateway");
    }
  };
  const forget = async (digests: readonly string[]) => {
    for (const digest of digests) sessions.delete(digest);
    if (digests.length === 0) return;
    await rows
      .remove(digests)
      .catch((error) => log.warn({ err: error }, "could not remove old dashboard logins"));
  };
  const isOver = ({ keyId, expiresAt }: Login) => expiresAt <= clock.now() || !admin(keyId);

  return {
    async load() {
      const stored = await rows.all();
      await forget(stored.filter(isOver).map(({ digest }) => digest));
      const open = stored.filter((login) => !isOver(login)).sort((a, b) => a.expiresAt - b.expiresAt);
      for (const login of open) sessions.set(login.digest, { ...login, saved: login.expiresAt });
    },
    async open(keyId) {
      const old: string[] = [];
      for (const [digest, { expiresAt }] of sessions) {
        if (sessions.size - old.length < MAX_SESSIONS && expiresAt > clock.now()) break;
        old.push(digest);
      }
      void forget(old);
      const token = randomBytes(32).toString("base64url");
      const expiresAt = clock.now() + LIFETIME_MS;
      const session = { digest: digestOf(token), keyId, expiresAt, saved: expiresAt };
      sessions.set(session.digest, session);
      await keep(session);
      return { token, expiresAt };
    },
    check(token) {
      const digest = digestOf(token);
      const session = sessions.get(digest);
      if (!session) return undefined;
      const opener = admin(session.keyId);
      if (!opener || isOver(session)) {
        void forget([digest]);
        return undefined;
      }
      session.expiresAt = clock.now() + LIFETIME_MS;
      sessions.delete(digest);
      sessions.set(digest, session);
      if (session.expiresAt - session.saved >= SAVE_EVERY_MS) {
        session.saved = session.expiresAt;
        void keep(session);
      }
      return {
        kind: "dashboard",
        id: `${ID_PREFIX}${session.keyId}`,
        keyId: opener.keyId,
        level: "admin",
        login: digest,
        agents: opener.agents,
      };
    },
    isOver({ login }) {
      if (login === undefined) return false;
      const session = sessions.get(login);
      return !session || isOver(session);
    },
    async close(token) {
      const digest = digestOf(token);
      if (!sessions.delete(digest) && !undead.has(digest)) return;
      undead.add(digest);
      try {
        await rows.remove([digest]);
        undead.delete(digest);
      } catch (error) {
        log.error({ err: error }, "could not store a dashboard logout");
        const message =
          "You are logged out, but a restart would undo that: it could not be stored. Log out again.";
        throw new GatewayError("UNAVAILABLE", message);
      }
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
  const found = parseCookies(cookies);
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
