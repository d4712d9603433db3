import type { PostgresStatement } from "./batch.ts";

/** A name as a statement has it. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Where names are looked up: in the gateway's schema, then where the extension for search is. */
export const pathOf = (schema: string, extension: string): string =>
  [...new Set([schema, extension])].map(quoted).join(", ");

/**
 * The first statement of each transaction: its settings end with it, because whoever stands between may give the
 * connection to another gateway next.
 */
export const settings = (path: string, limitMs: number): PostgresStatement => ({
  text: `SELECT set_config('search_path', $1, true), set_config('statement_timeout', $2, true),
    set_config('idle_in_transaction_session_timeout', $2, true), set_config('synchronous_commit', 'on', true)`,
  values: [path, String(limitMs)],
});
