import { type Change, change, sql } from "../change.ts";
import type { Sql } from "./port.ts";

/** A dashboard login. Of its token only the digest is stored. */
export interface StoredLogin {
  digest: string;
  /** Id of the key that opened it. */
  keyId: string;
  /** Unix ms. */
  expiresAt: number;
}

export interface Logins {
  all(): Promise<StoredLogin[]>;
  /** Adds a login, or gives it another time. */
  keep(login: StoredLogin): Change;
  remove(digests: readonly string[]): Change;
}

export function createLogins({ read }: Sql): Logins {
  return {
    async all() {
      const rows = await read<{ digest: string; key_id: string; expires_at: number }>(
        "SELECT digest, key_id, expires_at FROM logins ORDER BY expires_at, digest",
      );
      return rows.map((row) => ({ digest: row.digest, keyId: row.key_id, expiresAt: row.expires_at }));
    },
    keep: ({ digest, keyId, expiresAt }) =>
      change(
        sql(
          `INSERT INTO logins (digest, key_id, expires_at) VALUES (?, ?, ?)
           ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at`,
          digest,
          keyId,
          expiresAt,
        ),
      ),
    remove: (digests) =>
      change(...digests.map((digest) => sql("DELETE FROM logins WHERE digest = ?", digest))),
  };
}
