import { change, sql } from "../change.ts";
import type { AsOwner } from "../directory.ts";
import type { Removal } from "../removal.ts";
import type { Sql } from "../sql/index.ts";
import type { Statement } from "../statement.ts";
import { ownedWork, type Work } from "./work.ts";

/** Rows removed in one transaction. */
const SLICE_ROWS = 500;

/** Statements, for one unit, that remove all messages of a session with their place in search and all counters. */
function clearStatements(session: number): Statement[] {
  return [
    sql("UPDATE sessions SET message_count = 0, last_message = NULL WHERE id = ?", session),
    sql(
      `UPDATE chats SET message_count = greatest(0, message_count - (SELECT count(*) FROM messages WHERE session = ?))
       WHERE id = (SELECT chat FROM sessions WHERE id = ?)`,
      session,
      session,
    ),
    ...["message_media", "message_steps", "message_search"].map((table) =>
      sql(`DELETE FROM ${table} WHERE message IN (SELECT id FROM messages WHERE session = ?)`, session),
    ),
    sql("DELETE FROM messages WHERE session = ?", session),
  ];
}

interface Doomed {
  id: number;
  session: number;
}

/**
 * Removes messages of one chat by id, and counts them out of it and their sessions. Sessions are locked first: whoever
 * removes the same messages at the same time then counts only what is left.
 */
export function removalStatements(chat: number, messages: readonly Doomed[]): Statement[] {
  const ids = messages.map(({ id }) => id).join(",");
  const sessions = [...new Set(messages.map(({ session }) => session))].join(",");
  const among = "= ANY (string_to_array(?, ',')::bigint[])";
  return [
    sql(`SELECT 1 FROM sessions WHERE id ${among} ORDER BY id FOR UPDATE`, sessions),
    sql(
      `UPDATE sessions SET
         message_count = greatest(0, message_count
           - (SELECT count(*) FROM messages WHERE session = sessions.id AND id ${among})),
         last_message = CASE WHEN EXISTS (SELECT 1 FROM messages WHERE session = sessions.id AND NOT id ${among})
           THEN last_message END
       WHERE id ${among}`,
      ids,
      ids,
      sessions,
    ),
    sql(
      `UPDATE chats SET message_count = greatest(0, message_count - (SELECT count(*) FROM messages WHERE id ${among}))
       WHERE id = ?`,
      ids,
      chat,
    ),
    ...["message_media", "message_steps", "message_search"].map((table) =>
      sql(`DELETE FROM ${table} WHERE message ${among}`, ids),
    ),
    sql(`DELETE FROM messages WHERE id ${among}`, ids),
  ];
}

/** Removes what `next` finds, slice by slice, until there is no more; resolves to the number of messages. */
export async function removeSlices(
  work: Work,
  chat: number,
  next: (limit: number) => Promise<Doomed[]>,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  while (!signal?.aborted) {
    const messages = await next(SLICE_ROWS);
    if (messages.length > 0) await work.write(removalStatements(chat, messages));
    removed += messages.length;
    if (messages.length < SLICE_ROWS) break;
  }
  return removed;
}

/** @param asOwner what each slice of an agent has to run in */
export const createRemoval = (
  { read }: Pick<Sql, "read">,
  work: Work,
  asOwner: (agentId: string) => AsOwner,
): Removal => ({
  clear: (session) => change(...clearStatements(session)),

  async emptySession(agentId, session) {
    const own = ownedWork(work, asOwner(agentId));
    const [row] = await read<{ chat: number }>("SELECT chat FROM sessions WHERE id = ?", [session]);
    if (!row) return;
    await removeSlices(own, row.chat, (limit) =>
      read("SELECT id, session FROM messages WHERE session = ? LIMIT ?", [session, limit]),
    );
  },

  async olderThan(agentId, before, signal) {
    const own = ownedWork(work, asOwner(agentId));
    let removed = 0;
    for (const { id } of await read<{ id: number }>("SELECT id FROM chats WHERE agent_id = ?", [agentId])) {
      const next = (limit: number) =>
        read<Doomed>("SELECT id, session FROM messages WHERE chat = ? AND ts < ? ORDER BY ts, id LIMIT ?", [
          id,
          before,
          limit,
        ]);
      removed += await removeSlices(own, id, next, signal);
    }
    return removed;
  },

  async turnsBefore(agentId, before, signal) {
    const own = ownedWork(work, asOwner(agentId));
    for (let after = 0; !signal.aborted; ) {
      const rows = await read<{ id: number; old: number; gone: number }>(
        `SELECT t.id, CASE WHEN t.started_at < ? THEN 1 ELSE 0 END AS old,
           CASE WHEN t.state <> 'running' AND coalesce(s.agent_id, ?) = ? THEN 1 ELSE 0 END AS gone
         FROM turns t LEFT JOIN sessions s ON s.id = t.session WHERE t.id > ? ORDER BY t.id LIMIT ?`,
        [before, agentId, agentId, after, SLICE_ROWS],
      );
      const gone = rows.filter((row) => row.old === 1 && row.gone === 1).map(({ id }) => id);
      if (gone.length > 0) {
        const text = "DELETE FROM turns WHERE id = ANY (string_to_array(?, ',')::bigint[])";
        await own.write([sql(text, gone.join(","))]);
      }
      if (rows.length < SLICE_ROWS || rows.some(({ old }) => old === 0)) return;
      after = rows.at(-1)!.id;
    }
  },
});
