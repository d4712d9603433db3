import { type Change, change, sql } from "../change.ts";
import type { Sql } from "./port.ts";

/** A public link to one file; times are Unix milliseconds. */
export interface StoredShare {
  id: string;
  /** SHA-256 of its token, hexadecimal; the token itself is not stored. */
  tokenHash: string;
  agentId: string;
  /** The session it belongs to; empty if it belongs to none. */
  session: string;
  /** Absolute. */
  path: string;
  /** Identity of the file when it was shared. */
  identity: string;
  expiresAt: number;
  createdAt: number;
}

/** The file of a share. `identity` is null in rows of versions that did not record it. */
export interface SharedFile {
  agentId: string;
  path: string;
  identity: string | null;
}

export interface StoredShares {
  agentOf(id: string): Promise<string | undefined>;
  /** The file behind a token that has not expired at `now`. */
  byToken(tokenHash: string, now: number): Promise<SharedFile | undefined>;
  add(share: StoredShare): Change;
  remove(id: string): Change;
  /** Removes what expires at `now` or earlier. */
  removeExpired(now: number): Change;
}

export function createShares({ read }: Sql): StoredShares {
  return {
    async agentOf(id) {
      const [row] = await read<{ agent_id: string }>("SELECT agent_id FROM shares WHERE id = ?", [id]);
      return row?.agent_id;
    },
    async byToken(tokenHash, now) {
      const [row] = await read<{ agent_id: string; path: string; identity: string | null }>(
        "SELECT agent_id, path, identity FROM shares WHERE token_hash = ? AND expires_at > ?",
        [tokenHash, now],
      );
      return row && { agentId: row.agent_id, path: row.path, identity: row.identity };
    },
    add: (share) =>
      change(
        sql(
          `INSERT INTO shares (id, token_hash, agent_id, session, path, identity, expires_at, created_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
          share.id,
          share.tokenHash,
          share.agentId,
          share.session,
          share.path,
          share.identity,
          share.expiresAt,
          share.createdAt,
        ),
      ),
    remove: (id) => change(sql("DELETE FROM shares WHERE id = ?", id)),
    removeExpired: (now) => change(sql("DELETE FROM shares WHERE expires_at <= ?", now)),
  };
}
