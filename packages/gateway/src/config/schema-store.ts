import { isAbsolute } from "node:path";
import * as z from "zod";

const isEncoded = (text: string) => {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
};

/** True for the address of a Postgres database. */
export function isPostgresUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, username, password, pathname } = new URL(url);
  return /^postgres(?:ql)?:$/.test(protocol) && [username, password, pathname].every(isEncoded);
}

/** What an address is told that is not one. */
export const NOT_POSTGRES_URL =
  "must be a postgres:// URL, with special characters of its password percent-encoded (% as %25)";

/** Marks a setting that is read only at start. */
const RESTART = { restart: true };

/** `gateway.store`. */
export const storeSection = z
  .looseObject({
    driver: z
      .enum(["sqlite", "postgres"])
      .default("sqlite")
      .describe("Where messages are stored: in `gateway.db` in the home directory, or in Postgres.")
      .meta(RESTART),
    url: z
      .string()
      .refine(isPostgresUrl, { error: NOT_POSTGRES_URL })
      .optional()
      .describe(
        "For Postgres: `postgres://user:password@host:port/database`, usually as a variable. `GATEWAY_STORE_URL` in the environment takes precedence, and chooses Postgres.",
      )
      .meta(RESTART),
    schema: z
      .string()
      .regex(/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/, {
        error: "must be a-z 0-9 _, at most 63 characters, and not begin with pg_ or a digit",
      })
      .default("agent_gateway")
      .describe("Schema in the database; the gateway creates it.")
      .meta(RESTART),
    poolSize: z.number().int().min(4).max(100).default(10).describe("Connections to Postgres.").meta(RESTART),
    ssl: z
      .enum(["prefer", "require", "verify-full", "disable"])
      .default("prefer")
      .describe(
        "Encryption of the connections; `verify-full` also checks the server's certificate and name. `sslmode` in the URL takes precedence.",
      )
      .meta(RESTART),
    sslRootCert: z
      .string()
      .refine((path) => isAbsolute(path), { error: "must be an absolute path" })
      .optional()
      .describe("File with the certificates to trust, in place of those of the system.")
      .meta(RESTART),
  })
  .refine(({ driver, url }) => driver === "sqlite" || url !== undefined, {
    error: "needs url for the driver postgres",
    path: [],
  })
  .prefault({});
