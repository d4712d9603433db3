import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import type { ClientConfig } from "pg";

/** How a connection is encrypted. */
export type Encryption = "disable" | "prefer" | "require" | "verify-full";

/** Where a Postgres store is. */
export interface PostgresPlace {
  driver: "postgres";
  /** `postgres://user:password@host:port/database`. */
  url: string;
  schema: string;
  poolSize: number;
  ssl: Encryption;
  /** File with the certificates that are trusted, in place of those of the system. */
  sslRootCert?: string | undefined;
}

/** `sslmode` as other programs know it. */
const MODES: Readonly<Record<string, Encryption>> = {
  disable: "disable",
  allow: "prefer",
  prefer: "prefer",
  require: "require",
  "verify-ca": "verify-full",
  "verify-full": "verify-full",
};

/** The url without what `pg` would take for settings of its own, and how to encrypt. */
function splitUrl(place: PostgresPlace): { url: string; ssl: Encryption } {
  const url = new URL(place.url);
  const ssl = MODES[url.searchParams.get("sslmode") ?? ""] ?? place.ssl;
  for (const key of [...url.searchParams.keys()]) if (key !== "host") url.searchParams.delete(key);
  return { url: url.href, ssl };
}

function encryption(ssl: Encryption, rootCert: string | undefined): ConnectionOptions | false {
  if (ssl === "disable") return false;
  const ca = rootCert === undefined ? undefined : readFileSync(rootCert, "utf8");
  return { rejectUnauthorized: ssl === "verify-full", ...(ca !== undefined && { ca }) };
}

const KEEPALIVE_MS = 30_000;

/** How `pg` connects; `plain` to do without encryption where that is only preferred. */
export function clientConfig(place: PostgresPlace, plain: boolean, timeoutMs: number): ClientConfig {
  const { url, ssl } = splitUrl(place);
  return {
    connectionString: url,
    ssl: plain ? false : encryption(ssl, place.sslRootCert),
    connectionTimeoutMillis: timeoutMs,
    keepAlive: true,
    // A firewall forgets a silent connection, and tells nobody.
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
    application_name: "agent-gateway",
  };
}

export const prefersEncryption = (place: PostgresPlace): boolean => splitUrl(place).ssl === "prefer";

/** Names the server in sentences; without the password. */
export function serverName(place: PostgresPlace): string {
  const url = new URL(place.url);
  return `${url.searchParams.get("host") ?? url.hostname}${url.port && `:${url.port}`}${url.pathname}`;
}

/** Names the schema in sentences, also at the beginning of one. */
export const schemaName = (place: PostgresPlace, the: "the" | "The" = "the"): string =>
  `${the} schema ${place.schema} of ${serverName(place)}`;
