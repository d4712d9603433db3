import { fold } from "../../fold.ts";
import type { SearchQuery, SearchResult } from "../../search.ts";
import { MESSAGE_COLUMNS, type MessageScope, type StoredMessage } from "../../sql/index.ts";
import type { Param } from "../../statement.ts";
import type { Connection } from "../connection.ts";
import { JobError } from "../protocol.ts";
import { chatGram, chatTrigram, codePoints, gramOf } from "./grams.ts";
import { IS_INDEXED, LONG_BYTES, QUEUED } from "./indexing.ts";

/** Memory that the asking thread shares: not 0 once nobody waits for the result any more. */
export type Abandoned = Int32Array<SharedArrayBuffer>;

interface Hit {
  id: number;
  ts: number;
}
/** What the index answers from: a table of it, and the expression that its MATCH takes. */
interface Match {
  table: "search_text" | "search_grams";
  expression: string;
  needle: string;
}
interface Scope {
  chat: number;
  session: number | undefined;
}

/** Up to this many hits are sorted by time; of more, the newest are met sooner by walking the chat backwards. */
const MAX_SORTED = 5000;
/** Messages that such a walk looks at before it gives up. */
const MAX_WALKED = 20_000;

/**
 * Messages that contain `q`, the newest first, with their exact number. Must run inside one transaction: the index
 * answers for the messages that it holds, the newest ones and the very long ones are scanned.
 */
export function search(db: Connection, query: SearchQuery, abandoned: Abandoned): SearchResult {
  const goOn = () => {
    if (Atomics.load(abandoned, 0) !== 0) throw new JobError("ABANDONED", "nobody waits for this search");
  };
  goOn();
  const scope = scopeOf(db, query);
  if (!scope) return { messages: [], total: 0 };
  const needle = fold(query.q);
  const match = matchOf(db, scope.chat, needle);
  const scanned = scan(db, scope, needle, goOn);
  goOn();
  const indexed = countIndexed(db, match, scope);
  const total = indexed + scanned.length;
  if (query.offset >= total) return { messages: [], total };
  goOn();
  const end = query.offset + query.limit;
  const ids =
    scanned.length === 0
      ? newestIndexed(db, match, scope, indexed, query.limit, query.offset)
      : merge(newestIndexed(db, match, scope, indexed, end, 0), scanned).slice(query.offset, end);
  return { messages: ids.map(({ id }) => messageById(db, id)), total };
}

function scopeOf(db: Connection, { agentId, chatId, session_id }: MessageScope): Scope | undefined {
  const chat = db.get("SELECT id FROM chats WHERE agent_id = ? AND chat_id = ?", [agentId, chatId])?.id;
  if (chat === undefined) return undefined;
  if (session_id === undefined) return { chat: Number(chat), session: undefined };
  const session = db.get("SELECT id FROM sessions WHERE uuid = ? AND chat = ?", [
    session_id,
    Number(chat),
  ])?.id;
  return session === undefined ? undefined : { chat: Number(chat), session: Number(session) };
}

function matchOf(db: Connection, chat: number, needle: string): Match {
  const points = codePoints(needle);
  // Where all messages are of this chat, reading its part of the index, as long as the chat, can be spared.
  const ends = db.get(
    "SELECT (SELECT min(chat) FROM messages) AS low, (SELECT max(chat) FROM messages) AS high",
  );
  const alone = ends?.low === chat && ends.high === chat;
  if (points.length < 3) {
    const gram = `"${gramOf(points)}"`;
    return { table: "search_grams", expression: alone ? gram : `"${chatGram(chat)}" AND ${gram}`, needle };
  }
  const phrase = `content : "${needle.replaceAll('"', '""')}"`;
  return {
    table: "search_text",
    expression: alone ? phrase : `chat : "${chatTrigram(chat)}" AND ${phrase}`,
    needle,
  };
}

/** The part of WHERE that both counting and paging share. */
function condition({ table, expression }: Match, { session }: Scope): { where: string; params: Param[] } {
  if (session === undefined) return { where: `${table} MATCH ?`, params: [expression] };
  return {
    where: `${table} MATCH ? AND +${table}.rowid IN (SELECT id FROM messages WHERE session = ?)`,
    params: [expression, session],
  };
}

function countIndexed(db: Connection, match: Match, scope: Scope): number {
  const { where, params } = condition(match, scope);
  return Number(db.get(`SELECT count(*) AS n FROM ${match.table} WHERE ${where}`, params)!.n);
}

function newestIndexed(
  db: Connection,
  match: Match,
  scope: Scope,
  total: number,
  limit: number,
  offset: number,
): Hit[] {
  if (total === 0) return [];
  const { table } = match;
  const { where, params } = condition(match, scope);
  const page = [limit, offset];
  const disordered = db.get("SELECT disordered FROM chats WHERE id = ?", [scope.chat])?.disordered === 1;
  if (!disordered) {
    return db.all(
      `SELECT h.id, m.ts FROM (SELECT rowid AS id FROM ${table} WHERE ${where} ORDER BY rowid DESC LIMIT ? OFFSET ?) h
       CROSS JOIN messages m ON m.id = h.id ORDER BY h.id DESC`,
      [...params, ...page],
    ) as unknown as Hit[];
  }
  if (total <= MAX_SORTED) {
    return db.all(
      `SELECT m.id, m.ts FROM ${table} CROSS JOIN messages m ON m.id = ${table}.rowid WHERE ${where}
       ORDER BY m.ts DESC, m.id DESC LIMIT ? OFFSET ?`,
      [...params, ...page],
    ) as unknown as Hit[];
  }
  const walked = walk(db, match.needle, scope, offset + limit)?.slice(offset);
  if (walked) return walked;
  return db.all(
    `SELECT m.id, m.ts FROM messages m INDEXED BY messages_chat
     WHERE m.chat = ? AND m.id IN (SELECT rowid FROM ${table} WHERE ${where})
     ORDER BY m.ts DESC, m.id DESC LIMIT ? OFFSET ?`,
    [scope.chat, ...params, ...page],
  ) as unknown as Hit[];
}

/** The newest `count` hits among the indexed messages, by looking at them; undefined when they are too far apart. */
function walk(db: Connection, needle: string, scope: Scope, count: number): Hit[] | undefined {
  const hits: Hit[] = [];
  const [owner, value] = scope.session === undefined ? ["chat", scope.chat] : ["session", scope.session];
  const rows = db
    .prepare(
      `SELECT id, ts, content FROM messages WHERE ${owner} = ? AND ${IS_INDEXED}
       AND octet_length(content) <= ${LONG_BYTES} ORDER BY ts DESC, id DESC LIMIT ${MAX_WALKED}`,
    )
    .iterate(value) as Iterable<unknown> as Iterable<Hit & { content: string }>;
  for (const { id, ts, content } of rows) {
    if (!fold(content).includes(needle)) continue;
    hits.push({ id, ts });
    if (hits.length === count) return hits;
  }
  return undefined;
}

/** Hits among what the index does not hold. */
function scan(db: Connection, scope: Scope, needle: string, goOn: () => void): Hit[] {
  const hits: Hit[] = [];
  const own = scope.session === undefined ? "" : "AND +session = ?";
  const rest = scope.session === undefined ? [] : [scope.session];
  const look = (sql: string, params: readonly Param[]) => {
    for (const row of db.prepare(sql).iterate(...params)) {
      const { id, ts, content } = row as unknown as Hit & { content: string };
      goOn();
      if (fold(content).includes(needle)) hits.push({ id, ts });
    }
  };
  look(
    `SELECT id, ts, content FROM ${QUEUED} WHERE +chat = ? ${own}
     AND octet_length(content) <= ${LONG_BYTES}`,
    [scope.chat, ...rest],
  );
  look(
    `SELECT id, ts, content FROM messages INDEXED BY messages_long
     WHERE chat = ? ${own} AND octet_length(content) > ${LONG_BYTES}`,
    [scope.chat, ...rest],
  );
  return hits;
}

const newestFirst = (a: Hit, b: Hit) => b.ts - a.ts || b.id - a.id;
const merge = (indexed: readonly Hit[], scanned: readonly Hit[]) =>
  [...indexed, ...scanned].sort(newestFirst);

function messageById(db: Connection, id: number): StoredMessage {
  return db.get(
    `SELECT ${MESSAGE_COLUMNS} FROM messages m JOIN sessions s ON s.id = m.session WHERE m.id = ?`,
    [id],
  ) as unknown as StoredMessage;
}
