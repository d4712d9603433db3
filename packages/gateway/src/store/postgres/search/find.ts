import { fold } from "../../fold.ts";
import type { SearchQuery, SearchResult } from "../../search.ts";
import { MESSAGE_COLUMNS, type MessageScope, type StoredMessage } from "../../sql/index.ts";
import type { Param } from "../../statement.ts";
import { LONG_BYTES } from "./entry.ts";

/** Reads in one statement. */
export type Read = <T>(text: string, params: readonly Param[]) => Promise<T[]>;

/** A condition on `message_search`, with its parameters. */
interface Condition {
  where: string;
  params: readonly Param[];
}

/** Up to this many hits are sorted by time; of more, the newest are met sooner by walking the chat backwards. */
const MAX_SORTED = 5000;
/** Messages that such a walk looks at before it gives up. */
const MAX_WALKED = 20_000;

const IS_SHORT = `octet_length(folded) <= ${LONG_BYTES}`;
const IS_LONG = `octet_length(folded) > ${LONG_BYTES}`;
const NEWEST_FIRST = "ORDER BY ts DESC, message DESC";

/** Messages that contain `q`, the newest first, with their exact number. */
export async function find(read: Read, query: SearchQuery): Promise<SearchResult> {
  const scope = await scopeOf(read, query);
  if (!scope) return { messages: [], total: 0 };
  const { text, params } = statementFor(scope, fold(query.q), query.offset + query.limit);
  const [row] = await read<{ indexed: number; newest: string | null; long: string | null }>(text, params);
  const scanned = hitsOf(row!.long);
  const hits = [...hitsOf(row!.newest), ...scanned].sort((a, b) => b.ts - a.ts || b.message - a.message);
  const page = hits.slice(query.offset, query.offset + query.limit);
  return { messages: await messagesOf(read, page), total: row!.indexed + scanned.length };
}

/** The planner has to know the ids in order to judge how many rows they stand for, so they are read before. */
async function scopeOf(
  read: Read,
  { agentId, chatId, session_id }: MessageScope,
): Promise<Condition | undefined> {
  const [row] = await read<{ chat: number; session: number | null }>(
    `SELECT c.id AS chat, s.id AS session FROM chats c
     LEFT JOIN sessions s ON s.chat = c.id AND s.uuid = ? WHERE c.agent_id = ? AND c.chat_id = ?`,
    [session_id ?? "", agentId, chatId],
  );
  if (!row) return undefined;
  if (session_id === undefined) return { where: "chat = ?", params: [row.chat] };
  if (row.session === null) return undefined;
  return { where: "chat = ? AND session = ?", params: [row.chat, row.session] };
}

/** Three neighbours that are certain to be a trigram of the index. */
const WORD = /[\p{L}\p{N}]{3}/u;

/** What the indexes answer, and the texts it is true of. */
function matching(scope: Condition, needle: string): Condition {
  const pattern = `%${needle.replace(/[\\%_]/g, "\\$&")}%`;
  const where = `${scope.where} AND ${IS_SHORT} AND folded LIKE ?`;
  if (WORD.test(needle)) return { where, params: [...scope.params, pattern] };
  return {
    where: `${where} AND search_characters(folded) @> string_to_array(?, NULL)`,
    params: [...scope.params, pattern, [...new Set(needle)].join("")],
  };
}

/**
 * One statement, so that number and hits are of one snapshot: how many texts of the indexes match, the newest `count`
 * of them, and all others that match. The scalar subqueries run only where CASE or COALESCE gets to them.
 */
function statementFor(scope: Condition, needle: string, count: number): Condition & { text: string } {
  const match = matching(scope, needle);
  const listed = "string_agg(ts || ':' || message, ',')";
  // The order of the indexes alone, and a condition that none of them answers: it stops at the last hit wanted.
  const walk = `SELECT ts, message FROM (SELECT ts, message, folded FROM message_search
      WHERE ${scope.where} AND ${IS_SHORT} ${NEWEST_FIRST} LIMIT ${MAX_WALKED}) newest
    WHERE strpos(folded, ?) > 0 ${NEWEST_FIRST} LIMIT ?`;
  // Kept apart from the order, so that the limit does not mislead the planner into a walk without an end.
  const sorted = `WITH found AS MATERIALIZED (SELECT ts, message FROM message_search WHERE ${match.where})
    SELECT ts, message FROM found ${NEWEST_FIRST} LIMIT ?`;
  const text = `SELECT n AS indexed,
      CASE WHEN n = 0 THEN NULL ELSE coalesce(
        CASE WHEN n > ${MAX_SORTED} THEN (SELECT ${listed} FROM (${walk}) w HAVING count(*) >= least(n, ?)) END,
        (SELECT ${listed} FROM (${sorted}) s)) END AS newest,
      (SELECT ${listed} FROM message_search WHERE ${scope.where} AND ${IS_LONG} AND strpos(folded, ?) > 0) AS long
    FROM (SELECT count(*) AS n FROM message_search WHERE ${match.where}) counted`;
  const walkParams = [...scope.params, needle, count, count];
  const params = [...walkParams, ...match.params, count, ...scope.params, needle, ...match.params];
  return { text, where: match.where, params };
}

interface Hit {
  ts: number;
  message: number;
}

const hitsOf = (list: string | null): Hit[] =>
  (list ?? "")
    .split(",")
    .filter((item) => item !== "")
    .map((item) => {
      const [ts, message] = item.split(":");
      return { ts: Number(ts), message: Number(message) };
    });

async function messagesOf(read: Read, hits: readonly Hit[]): Promise<StoredMessage[]> {
  if (hits.length === 0) return [];
  return read<StoredMessage>(
    `SELECT ${MESSAGE_COLUMNS} FROM messages m JOIN sessions s ON s.id = m.session
     WHERE m.id = ANY (string_to_array(?, ',')::bigint[]) ORDER BY m.ts DESC, m.id DESC`,
    [hits.map(({ message }) => message).join(",")],
  );
}
