import type { Connection, Param, Statement } from "../store/sqlite/index.ts";
import { chatGram, chatTrigram, fold, gramsOf } from "./fold.ts";

/**
 * A message longer than this (bytes of UTF-8) is never indexed, so that no single one holds the writer up; search
 * scans those. The partial index `messages_long` has the same number.
 */
export const LONG_BYTES = 65_536;

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
    UPDATE meta SET value = '0' WHERE key = 'search_upto';
    UPDATE chats SET indexed_ts = 0, disordered = 0`);
  db.run("INSERT OR REPLACE INTO meta (key, value) VALUES ('search_unicode', ?)", [unicode]);
  db.raw.exec("COMMIT");
}

const gramEntry = (chat: number, folded: string) => `${chatGram(chat)} ${gramsOf(folded)}`;

/** Statements that remove messages from the index, before they are deleted; `which` is a condition on `messages`. */
export function unindexStatements(which: string, params: readonly Param[]): Statement[] {
  const indexed = `FROM messages WHERE ${which} AND octet_length(content) <= ${LONG_BYTES}
    AND id <= (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'search_upto') ORDER BY id`;
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

/** Last message that the index holds. */
export function indexedUpto(db: Connection): number {
  return Number(db.get("SELECT value FROM meta WHERE key = 'search_upto'")?.value ?? 0);
}

function enoughPending(db: Connection, upto: number): boolean {
  const row = db.get(
    `SELECT count(*) AS n, total(min(octet_length(content), ${LONG_BYTES})) AS bytes
     FROM (SELECT content FROM messages WHERE id > ? LIMIT ${MIN_PENDING})`,
    [upto],
  ) as { n: number; bytes: number };
  return row.n >= MIN_PENDING || row.bytes >= MIN_PENDING_BYTES;
}

/**
 * Indexes the next messages for about {@link SLICE_MS}; call inside a transaction. True while enough are left to be
 * worth another step: the last few stay for search to scan.
 */
export function indexStep(db: Connection): boolean {
  const upto = indexedUpto(db);
  if (!enoughPending(db, upto)) return false;
  const rows = db
    .prepare(
      `SELECT id, chat, ts, iif(octet_length(content) > ${LONG_BYTES}, NULL, content) AS content
       FROM messages WHERE id > ? ORDER BY id LIMIT ${SLICE_ROWS}`,
    )
    .iterate(upto) as Iterable<unknown> as Iterable<Pending>;
  const order = createOrder(db);
  const until = performance.now() + SLICE_MS;
  let last = upto;
  for (const { id, chat, ts, content } of rows) {
    if (content !== null) {
      const folded = fold(content);
      db.run("INSERT INTO search_text (rowid, chat, content) VALUES (?, ?, ?)", [
        id,
        chatTrigram(chat),
        folded,
      ]);
      db.run("INSERT INTO search_grams (rowid, grams) VALUES (?, ?)", [id, gramEntry(chat, folded)]);
      order.add(chat, ts);
    }
    last = id;
    if (performance.now() > until) break;
  }
  order.store();
  db.run("UPDATE meta SET value = ? WHERE key = 'search_upto'", [String(last)]);
  return enoughPending(db, last);
}

/** Notes for each chat whether ids and times rise together: then the newest hits are those of the highest ids. */
function createOrder(db: Connection) {
  const chats = new Map<number, { latest: number; disordered: boolean }>();
  return {
    add(chat: number, ts: number) {
      let state = chats.get(chat);
      if (!state) {
        const row = db.get("SELECT indexed_ts, disordered FROM chats WHERE id = ?", [chat]);
        state = { latest: Number(row?.indexed_ts ?? 0), disordered: row?.disordered === 1 };
        chats.set(chat, state);
      }
      if (ts < state.latest) state.disordered = true;
      else state.latest = ts;
    },
    store() {
      for (const [chat, { latest, disordered }] of chats) {
        db.run("UPDATE chats SET indexed_ts = ?, disordered = ? WHERE id = ?", [
          latest,
          disordered ? 1 : 0,
          chat,
        ]);
      }
    },
  };
}
