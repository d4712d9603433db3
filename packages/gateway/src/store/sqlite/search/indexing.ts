import { fold } from "../../fold.ts";
import type { Param, Statement } from "../../statement.ts";
import type { Connection } from "../connection.ts";
import { chatGram, chatTrigram, gramsOf } from "./grams.ts";

/**
 * A message longer than this (bytes of UTF-8) is never indexed, so that no single one holds the writer up; search
 * scans those. The partial index `messages_long` has the same number.
 */
export const LONG_BYTES = 65_536;

/** Holds for a message, of a table `messages`, that the index has. */
export const IS_INDEXED = "NOT EXISTS (SELECT 1 FROM search_queue WHERE message = messages.id)";

/** Below this many new messages search scans them, and a turn costs the index nothing. */
const MIN_PENDING = 200;
/** Or this many bytes. */
const MIN_PENDING_BYTES = 256 * 1024;
const SLICE_MS = 12;
const SLICE_ROWS = 2000;

interface Pending {
  id: number;
  chat: number;
  ts: number;
  content: string | null;
}

/**
 * Makes the writer's connection ready for search. It defines what an index entry is made of as SQL functions, so that
 * statements can remove entries: without its text, FTS5 could only mark an entry as deleted, which slows removal a
 * hundredfold and every search after it. And since folding follows the Unicode version of the runtime, the index is
 * cleared and rebuilt when that has changed.
 */
export function prepareSearch(db: Connection): void {
  const options = { deterministic: true };
  db.raw.function("search_chat", options, (chat) => chatTrigram(Number(chat)));
  db.raw.function("search_fold", options, (content) => fold(String(content)));
  db.raw.function("search_grams_of", options, (chat, content) =>
    gramEntry(Number(chat), fold(String(content))),
  );
  const unicode = process.versions.unicode ?? "";
  if (db.get("SELECT value FROM meta WHERE key = 'search_unicode'")?.value === unicode) return;
  db.raw.exec(`BEGIN IMMEDIATE;
    INSERT INTO search_text (search_text) VALUES ('delete-all');
    INSERT INTO search_grams (search_grams) VALUES ('delete-all');
    DELETE FROM search_queue;
    INSERT INTO search_queue SELECT id FROM messages;
    UPDATE chats SET indexed_ts = 0, indexed_id = 0, disordered = 0`);
  db.run("INSERT OR REPLACE INTO meta (key, value) VALUES ('search_unicode', ?)", [unicode]);
  db.raw.exec("COMMIT");
}

const gramEntry = (chat: number, folded: string) => `${chatGram(chat)} ${gramsOf(folded)}`;

/** Statements that remove messages from the index, before they are deleted; `which` is a condition on `messages`. */
export function unindexStatements(which: string, params: readonly Param[]): Statement[] {
  const indexed = `FROM messages WHERE ${which} AND octet_length(content) <= ${LONG_BYTES}
    AND ${IS_INDEXED} ORDER BY id`;
  return [
    {
      sql: `INSERT INTO search_text (search_text, rowid, chat, content)
            SELECT 'delete', id, search_chat(chat), search_fold(content) ${indexed}`,
      params,
    },
    {
      sql: `INSERT INTO search_grams (search_grams, rowid, grams)
            SELECT 'delete', id, search_grams_of(chat, content) ${indexed}`,
      params,
    },
  ];
}

/** Messages that the index does not hold yet. Triggers keep the queue, because ids do not rise in the order of commits. */
export const QUEUED = "search_queue q CROSS JOIN messages m ON m.id = q.message";

function enoughPending(db: Connection): boolean {
  const row = db.get(
    `SELECT count(*) AS n, total(min(octet_length(content), ${LONG_BYTES})) AS bytes
     FROM (SELECT m.content FROM ${QUEUED} LIMIT ${MIN_PENDING})`,
  ) as { n: number; bytes: number };
  return row.n >= MIN_PENDING || row.bytes >= MIN_PENDING_BYTES;
}

/**
 * Indexes the next messages for about {@link SLICE_MS}; call inside a transaction. True while enough are left to be
 * worth another step: the last few stay for search to scan.
 */
export function indexStep(db: Connection): boolean {
  if (!enoughPending(db)) return false;
  const rows = db
    .prepare(
      `SELECT m.id, m.chat, m.ts, iif(octet_length(m.content) > ${LONG_BYTES}, NULL, m.content) AS content
       FROM ${QUEUED} ORDER BY q.message LIMIT ${SLICE_ROWS}`,
    )
    .iterate() as Iterable<unknown> as Iterable<Pending>;
  const order = createOrder(db);
  const until = performance.now() + SLICE_MS;
  let last = 0;
  for (const { id, chat, ts, content } of rows) {
    if (content !== null) {
      const folded = fold(content);
      db.run("INSERT INTO search_text (rowid, chat, content) VALUES (?, ?, ?)", [
        id,
        chatTrigram(chat),
        folded,
      ]);
      db.run("INSERT INTO search_grams (rowid, grams) VALUES (?, ?)", [id, gramEntry(chat, folded)]);
      order.add(chat, id, ts);
    }
    last = id;
    if (performance.now() > until) break;
  }
  order.store();
  db.run("DELETE FROM search_queue WHERE message <= ?", [last]);
  return enoughPending(db);
}

/** Notes for each chat whether ids and times rise together: then the newest hits are those of the highest ids. */
function createOrder(db: Connection) {
  const chats = new Map<number, { latest: number; highest: number; disordered: boolean }>();
  return {
    add(chat: number, id: number, ts: number) {
      let state = chats.get(chat);
      if (!state) {
        const row = db.get("SELECT indexed_ts, indexed_id, disordered FROM chats WHERE id = ?", [chat]);
        state = {
          latest: Number(row?.indexed_ts ?? 0),
          highest: Number(row?.indexed_id ?? 0),
          disordered: row?.disordered === 1,
        };
        chats.set(chat, state);
      }
      if (ts < state.latest || id < state.highest) state.disordered = true;
      state.latest = Math.max(state.latest, ts);
      state.highest = Math.max(state.highest, id);
    },
    store() {
      for (const [chat, { latest, highest, disordered }] of chats) {
        db.run("UPDATE chats SET indexed_ts = ?, indexed_id = ?, disordered = ? WHERE id = ?", [
          latest,
          highest,
          disordered ? 1 : 0,
          chat,
        ]);
      }
    },
  };
}
