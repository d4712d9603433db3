import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import type { Principal } from "./principal.ts";
import { createThrottle } from "./throttle.ts";

/** A configured key: exactly one of `key` and `keyHash` (`sha256:<hex>`). */
export interface KeyEntry {
  id?: string | undefined;
  key?: string | undefined;
  keyHash?: string | undefined;
  /** Agent ids, or `*` for all, also as a list item; unset means all for an admin key, else none. */
  agents?: "*" | readonly string[] | undefined;
  write: boolean;
  admin: boolean;
}

export interface Authenticator {
  /**
   * The principal of a key; failures are counted by `address`.
   * @throws GatewayError `API_KEY_INVALID`, or `RATE_LIMITED` once the address has failed too often. A valid key
   * passes even then: behind one proxy a stranger's guesses must not lock everyone out.
   */
  verify(key: Buffer, address: string): Principal;
  /** False if no keys are configured. */
  configured(): boolean;
  /** The current principal with this id; undefined if its key is no longer configured. */
  find(id: string): Principal | undefined;
  /** The same, if it is configured as an admin key. */
  admin(id: string): Principal | undefined;
}

interface KnownKey {
  digest: Buffer;
  principal: Principal;
}

const sha256 = (data: Buffer | string) => hash("sha256", data, "buffer");

/** The key of a request, from `X-Api-Key` or `Authorization: Bearer`; undefined if there is none. */
export function presentedKey(headers: IncomingHttpHeaders): Buffer | undefined {
  const own = headers["x-api-key"];
  const text = (typeof own === "string" && own.trim()) || bearer(headers.authorization);
  // Headers are decoded byte by byte; this restores the bytes, so that a key in UTF-8 compares correctly.
  return text ? Buffer.from(text, "latin1") : undefined;
}

function bearer(value: string | undefined): string | undefined {
  if (value?.slice(0, 7).toLowerCase() !== "bearer ") return undefined;
  return value.slice(7).trim();
}

function know(entry: KeyEntry): KnownKey {
  const digest = entry.keyHash
    ? Buffer.from(entry.keyHash.slice("sha256:".length), "hex")
    : sha256(entry.key as string);
  const scope = entry.agents ?? (entry.admin ? "*" : []);
  return {
    digest,
    principal: Object.freeze({
      kind: "key",
      // A hash of the hash: the log must not help anyone guess a short key.
      id: `key-${sha256(Buffer.concat([Buffer.from("principal\0"), digest])).toString("hex", 0, 6)}`,
      keyId: entry.id ?? digest.toString("hex", 0, 6),
      level: entry.admin ? "admin" : entry.write ? "write" : "key",
      agents: scope.includes("*") ? "*" : new Set(scope),
    }),
  };
}

/** Keeps only the SHA-256 of keys. `keys` may return another array at any time; each is hashed once. */
export function createAuthenticator({
  keys,
  clock,
}: {
  keys: () => readonly KeyEntry[];
  clock: Clock;
}): Authenticator {
  const throttle = createThrottle(clock);
  let source: readonly KeyEntry[] | undefined;
  let known: KnownKey[] = [];
  const current = () => {
    const entries = keys();
    if (entries !== source) {
      known = entries.map(know);
      source = entries;
    }
    return known;
  };
  const find = (id: string) => current().find(({ principal }) => principal.id === id)?.principal;
  return {
    verify(key, address) {
      const digest = sha256(key);
      let found: Principal | undefined;
      // Every key is compared, even after a match, so that timing does not reveal the position.
      for (const candidate of current()) {
        if (timingSafeEqual(digest, candidate.digest)) found ??= candidate.principal;
      }
      if (found) return found;
      const wait = throttle.wait(address);
      if (wait > 0) {
        throw new GatewayError("RATE_LIMITED", `Too many failed attempts; try again in ${wait} s.`, {
          headers: { "retry-after": String(wait) },
        });
      }
      throttle.failed(address);
      throw new GatewayError("API_KEY_INVALID");
    },
    configured: () => keys().length > 0,
    find,
    admin(id) {
      const found = find(id);
      return found?.level === "admin" ? found : undefined;
    },
  };
}
