import { sql } from "../../change.ts";
import { fold } from "../../fold.ts";
import type { SearchEntry } from "../../sql/index.ts";
import type { Statement } from "../../statement.ts";

/**
 * A text longer than this (bytes of UTF-8) is in no index, so that no single one holds a unit up; search scans those.
 * The partial indexes of `message_search` have the same number.
 */
export const LONG_BYTES = 65_536;

/** Makes a message known to search, in the unit that stores it. */
export const entryStatement = ({ id, session, content, ts }: SearchEntry): Statement =>
  sql(
    `INSERT INTO message_search (message, chat, session, ts, folded)
     SELECT ?, chat, id, ?, ? FROM sessions WHERE uuid = ?`,
    id,
    ts,
    fold(content),
    session,
  );
