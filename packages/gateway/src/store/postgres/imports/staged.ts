import { sql } from "../../change.ts";
import { stagedUuid } from "../../imported.ts";
import type { Statement } from "../../statement.ts";
import { removeSlices } from "../removal.ts";
import type { Steps, Work } from "../work.ts";
import { placesOf, stagedAs } from "./staging.ts";

interface StagedSession {
  id: number;
  uuid: string;
  chat: number;
  chat_id: string;
}
/** Where a staged session goes. */
interface Move extends StagedSession {
  to: { uuid: string; chat: number | undefined; present: number | undefined };
}

const DIVISION_BY_ZERO = "22012";
const NOT_UNIQUE = "23505";

/** A chat or session came or went after {@link showStaged} had looked. */
export const isOvertaken = (error: unknown): boolean =>
  [DIVISION_BY_ZERO, NOT_UNIQUE].includes(String((error as { code?: string }).code));

/** Locks rows, and fails unless all are there. */
const holding = (table: string, ids: readonly number[]): Statement =>
  sql(
    `SELECT 1 / CASE WHEN count(*) = ? THEN 1 ELSE 0 END AS held
     FROM (SELECT 1 FROM ${table} WHERE id = ANY (string_to_array(?, ',')::bigint[]) ORDER BY id FOR UPDATE) held`,
    ids.length,
    ids.join(","),
  );

async function movesOf(work: Pick<Work, "read">, name: string, agentId: string): Promise<Move[]> {
  const sessions = await work.read<StagedSession>(
    `SELECT s.id, s.uuid, s.chat, c.chat_id FROM sessions s JOIN chats c ON c.id = s.chat
     WHERE c.agent_id = ? ORDER BY c.id, s.id`,
    [stagedAs(name)],
  );
  const wanted = sessions.map((session) => ({
    session,
    chatId: session.chat_id,
    sessionId: session.uuid.slice(stagedUuid(name, session.chat_id, "").length),
  }));
  const places = await placesOf(work, agentId, wanted);
  return wanted.map(({ session, chatId, sessionId }) => ({
    ...session,
    to: places.get(`${chatId}\0${sessionId}`)!,
  }));
}

/** Messages that are moved in one step. */
const STEP_ROWS = 1000;

/** Messages of a staged chat go to the chat that exists, and their places in search with them. */
async function moveMessages(
  step: Parameters<Steps>[0],
  staged: number,
  moves: readonly Move[],
): Promise<void> {
  const target = new Map(moves.map(({ id, to }) => [id, to.present ?? id]));
  const chat = moves[0]!.to.chat!;
  const rows = "json_to_recordset(?::json) AS r(id bigint, session bigint)";
  for (let last = { ts: -1, id: 0 }; ; ) {
    const [found] = await step([
      sql(
        "SELECT id, session, ts FROM messages WHERE chat = ? AND (ts, id) > (?, ?) ORDER BY ts, id LIMIT ?",
        staged,
        last.ts,
        last.id,
        STEP_ROWS,
      ),
    ]);
    const messages = found!.rows as unknown as Array<{ id: number; session: number; ts: number }>;
    if (messages.length === 0) return;
    const json = JSON.stringify(messages.map(({ id, session }) => ({ id, session: target.get(session) })));
    await step([
      sql(`UPDATE messages m SET chat = ?, session = r.session FROM ${rows} WHERE m.id = r.id`, chat, json),
      sql(
        `UPDATE message_search m SET chat = ?, session = r.session FROM ${rows} WHERE m.message = r.id`,
        chat,
        json,
      ),
    ]);
    last = messages.at(-1)!;
  }
}

/**
 * What was staged becomes part of the agent's history, in one transaction that relies on what is there now. Messages of
 * chats that exist are moved first, step by step, where nobody sees or needs them; rows that others need are locked only
 * by the statements at its end.
 * @param forget the last of those
 */
export async function showStaged(
  work: Pick<Work, "read" | "write" | "writeInSteps">,
  name: string,
  agentId: string,
  forget: Statement,
): Promise<void> {
  const moves = await movesOf(work, name, agentId);
  const last = [...showStatements(name, agentId, moves), forget];
  const joining = Map.groupBy(
    moves.filter(({ to }) => to.chat !== undefined),
    ({ chat }) => chat,
  );
  if (joining.size === 0) return void (await work.write(last));
  await work.writeInSteps(async (step) => {
    for (const [staged, its] of joining) await moveMessages(step, staged, its);
    return last;
  });
}

/** Everything but the messages themselves. */
function showStatements(name: string, agentId: string, moves: readonly Move[]): Statement[] {
  const present = [...new Set(moves.flatMap(({ to }) => to.present ?? []))];
  const chats = [...new Set(moves.flatMap(({ to }) => to.chat ?? []))];
  const json = JSON.stringify(
    moves.map(({ id, chat, to }) => ({
      id,
      uuid: to.uuid,
      staged: chat,
      chat: to.chat ?? chat,
      present: to.present ?? null,
    })),
  );
  const rows =
    "json_to_recordset(?::json) AS r(id bigint, uuid text, staged bigint, chat bigint, present bigint)";
  return [
    holding("sessions", present),
    holding("chats", chats),
    sql(
      `UPDATE sessions t SET message_count = t.message_count + s.message_count,
         created_at = least(t.created_at, s.created_at),
         last_message = CASE WHEN t.last_message IS NULL OR s.last_activity >= t.last_activity THEN s.last_message
           ELSE t.last_message END,
         last_activity = greatest(t.last_activity, s.last_activity)
       FROM ${rows} JOIN sessions s ON s.id = r.id WHERE t.id = r.present AND s.message_count > 0`,
      json,
    ),
    sql(`DELETE FROM sessions s USING ${rows} WHERE s.id = r.id AND r.present IS NOT NULL`, json),
    sql(
      `UPDATE sessions s SET uuid = r.uuid, agent_id = ?, chat = r.chat FROM ${rows}
       WHERE s.id = r.id AND r.present IS NULL`,
      agentId,
      json,
    ),
    sql(
      `UPDATE chats t SET message_count = t.message_count + s.message_count,
         last_activity = greatest(t.last_activity, s.last_activity)
       FROM (SELECT DISTINCT r.staged, r.chat FROM ${rows} WHERE r.chat <> r.staged) j JOIN chats s ON s.id = j.staged
       WHERE t.id = j.chat`,
      json,
    ),
    sql(
      `DELETE FROM chats c USING (SELECT DISTINCT r.staged FROM ${rows} WHERE r.chat <> r.staged) j
       WHERE c.id = j.staged`,
      json,
    ),
    sql("UPDATE chats SET agent_id = ? WHERE agent_id = ?", agentId, stagedAs(name)),
  ];
}

/** Removes what was staged, in slices; `last` is part of the last of them. */
export async function removeStaged(work: Work, name: string, last: Statement): Promise<void> {
  const chats = await work.read<{ id: number }>("SELECT id FROM chats WHERE agent_id = ?", [stagedAs(name)]);
  for (const { id } of chats) {
    await removeSlices(work, id, (limit) =>
      work.read("SELECT id, session FROM messages WHERE chat = ? LIMIT ?", [id, limit]),
    );
  }
  const staged = "(SELECT id FROM chats WHERE agent_id = ?)";
  await work.write([
    sql(`DELETE FROM sessions WHERE chat IN ${staged}`, stagedAs(name)),
    sql("DELETE FROM chats WHERE agent_id = ?", stagedAs(name)),
    last,
  ]);
}
