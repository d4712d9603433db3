import type { Statement } from "../../statement.ts";
import type { Connection } from "../connection.ts";
import type { JobContext } from "../protocol.ts";
import { unindexStatements } from "../search/index.ts";

/** Messages removed in one slice: about 10 ms of work. */
const SLICE_ROWS = 250;

/** Statements, for one unit, that remove all messages of a session with their place in search and all counters. */
export function clearStatements(session: number): Statement[] {
  return [
    ...unindexStatements("session = ?", [session]),
    ...["message_media", "message_steps"].map((table) => ({
      sql: `DELETE FROM ${table} WHERE message IN (SELECT id FROM messages WHERE session = ?)`,
      params: [session],
    })),
    {
      sql: `UPDATE chats SET message_count = max(0, message_count - (SELECT count(*) FROM messages WHERE session = ?))
            WHERE id = (SELECT chat FROM sessions WHERE id = ?)`,
      params: [session, session],
    },
    { sql: "DELETE FROM messages WHERE session = ?", params: [session] },
    { sql: "UPDATE sessions SET message_count = 0, last_message = NULL WHERE id = ?", params: [session] },
    {
      sql: `UPDATE chats SET indexed_ts = 0, indexed_id = 0, disordered = 0 WHERE id = (SELECT chat FROM sessions WHERE id = ?)
            AND NOT EXISTS (SELECT 1 FROM messages WHERE chat = chats.id)`,
      params: [session],
    },
  ];
}

/** Removes messages by id, all of one chat, and counts them out of it and their sessions. */
function removeMessages(db: Connection, chat: number, ids: readonly number[], unindexed: boolean): void {
  const list = JSON.stringify(ids);
  const among = "(SELECT value FROM json_each(?))";
  const sessions = db.all(
    `SELECT session, count(*) AS n FROM messages WHERE id IN ${among} GROUP BY session`,
    [list],
  ) as Array<{ session: number; n: number }>;
  // What the index does not hold is in its queue.
  if (unindexed) db.run("INSERT OR IGNORE INTO search_queue SELECT value FROM json_each(?)", [list]);
  for (const { sql, params } of unindexStatements(`id IN ${among}`, [list])) db.run(sql, params);
  db.run(`DELETE FROM message_media WHERE message IN ${among}`, [list]);
  db.run(`DELETE FROM message_steps WHERE message IN ${among}`, [list]);
  db.run(`DELETE FROM messages WHERE id IN ${among}`, [list]);
  db.run("UPDATE chats SET message_count = max(0, message_count - ?) WHERE id = ?", [ids.length, chat]);
  for (const { session, n } of sessions) {
    db.run(
      `UPDATE sessions SET message_count = max(0, message_count - ?),
         last_message = iif(EXISTS (SELECT 1 FROM messages WHERE session = sessions.id), last_message, NULL)
       WHERE id = ?`,
      [n, session],
    );
  }
}

/** @param unindexed whether they are neither in the index nor in its queue */
export async function removeSlices(
  context: JobContext,
  chat: number,
  select: string,
  params: readonly number[],
  unindexed = false,
) {
  let removed = 0;
  while (!context.signal.aborted) {
    const count = await context.slice(() => {
      const ids = context.db.all(`${select} LIMIT ${SLICE_ROWS}`, params).map((row) => Number(row.id));
      if (ids.length > 0) removeMessages(context.db, chat, ids, unindexed);
      return ids.length;
    });
    removed += count;
    if (count < SLICE_ROWS) break;
  }
  return removed;
}

/** Job of the writer: all messages of one session, in slices. */
export async function emptySession(context: JobContext, { session }: { session: number }): Promise<number> {
  const chat = context.db.get("SELECT chat FROM sessions WHERE id = ?", [session])?.chat;
  if (typeof chat !== "number") return 0;
  return removeSlices(context, chat, "SELECT id FROM messages WHERE session = ?", [session]);
}

/** Job of the writer: an agent's messages with a `ts` below `before`, in slices. Sessions left empty stay. */
export async function removeOlder(
  context: JobContext,
  { agentId, before }: { agentId: string; before: number },
): Promise<number> {
  let removed = 0;
  for (const { id } of context.db.all("SELECT id FROM chats WHERE agent_id = ?", [agentId])) {
    const select = "SELECT id FROM messages WHERE chat = ? AND ts < ? ORDER BY ts";
    removed += await removeSlices(context, Number(id), select, [Number(id), before]);
  }
  return removed;
}

/** Job of the writer: finished turns that began before `before`, in slices. */
export async function pruneTurns(context: JobContext, { before }: { before: number }): Promise<void> {
  for (let cursor = 0; !context.signal.aborted; ) {
    const next = await context.slice(() => {
      const rows = context.db.all(
        "SELECT id, started_at, state FROM turns WHERE id > ? ORDER BY id LIMIT 500",
        [cursor],
      ) as Array<{ id: number; started_at: number; state: string }>;
      const old = rows.filter((row) => row.started_at < before);
      const ids = JSON.stringify(old.filter((row) => row.state !== "running").map((row) => row.id));
      context.db.run("DELETE FROM turns WHERE id IN (SELECT value FROM json_each(?))", [ids]);
      return old.length === 500 ? rows.at(-1)!.id : null;
    });
    if (next === null) return;
    cursor = next;
  }
}
