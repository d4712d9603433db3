import { type Clock, sleep } from "../../../lib/clock.ts";
import { sql } from "../../change.ts";
import { fold } from "../../fold.ts";
import type { PostgresStatement } from "../batch.ts";
import type { Work } from "../work.ts";

/** Key of `meta` with the version of Unicode that the texts of search are folded by. */
const SEARCH_UNICODE = "search_unicode";
/** How far another one came. */
const PROGRESS = "search_refold";
const PAGE_ROWS = 500;
const PAGE_BYTES = 4 * 1024 * 1024;
const PAUSE_MS = 1_000;

interface Progress {
  unicode: string;
  /** The last message that is folded anew. */
  after: number;
}

const setting = (key: string, value: string) =>
  sql(
    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    key,
    value,
  );

/** Two statements: a store without messages is folded by this version; the second answers by which it is. */
export const foldedBy = (unicode: string): PostgresStatement[] => [
  {
    text: `INSERT INTO meta (key, value) SELECT '${SEARCH_UNICODE}', $1 WHERE NOT EXISTS (SELECT 1 FROM messages)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE meta.value <> excluded.value`,
    values: [unicode],
  },
  { text: `SELECT value FROM meta WHERE key = '${SEARCH_UNICODE}'`, values: [] },
];

async function progressOf(work: Work, unicode: string): Promise<Progress> {
  const [row] = await work.read<{ value: string }>("SELECT value FROM meta WHERE key = ?", [PROGRESS]);
  const known = row && (JSON.parse(row.value) as Progress);
  return known?.unicode === unicode ? known : { unicode, after: 0 };
}

/** Folds the next messages anew, in one transaction; false when there are none. */
async function refoldPage(work: Work, unicode: string): Promise<boolean> {
  const { after } = await progressOf(work, unicode);
  const rows = await work.read<{ id: number; content: string }>(
    `SELECT id, content FROM (
       SELECT id, content, sum(octet_length(content)) OVER (ORDER BY id) - octet_length(content) AS before
       FROM (SELECT id, content FROM messages WHERE id > ? ORDER BY id LIMIT ?) page) page
     WHERE before < ? ORDER BY id`,
    [after, PAGE_ROWS, PAGE_BYTES],
  );
  const last = rows.at(-1);
  if (!last) {
    await work.write([setting(SEARCH_UNICODE, unicode), sql("DELETE FROM meta WHERE key = ?", PROGRESS)]);
    return false;
  }
  const folded = JSON.stringify(rows.map(({ id, content }) => ({ message: id, folded: fold(content) })));
  await work.write([
    sql(
      // Whoever removes a message has locked it: this waits, and leaves it out.
      `INSERT INTO message_search (message, chat, session, ts, folded)
       SELECT m.id, m.chat, m.session, m.ts, r.folded FROM json_to_recordset(?::json) AS r(message bigint, folded text)
       JOIN messages m ON m.id = r.message ORDER BY m.id FOR KEY SHARE OF m
       ON CONFLICT (message) DO UPDATE SET folded = excluded.folded WHERE message_search.folded <> excluded.folded`,
      folded,
    ),
    setting(PROGRESS, JSON.stringify({ unicode, after: last.id } satisfies Progress)),
  ]);
  return true;
}

/**
 * Folds all texts of search anew, in the background, because folding follows the Unicode version of the runtime, and
 * adds those that are not there, as after a downgrade. Goes on where it was, also in another process.
 */
export async function refold(work: Work, clock: Clock, closing: AbortSignal, unicode: string): Promise<void> {
  while (!closing.aborted) {
    try {
      if (!(await refoldPage(work, unicode))) return;
    } catch {
      // The store is away, or busy.
      await sleep(clock, PAUSE_MS);
    }
  }
}
