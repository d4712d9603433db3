import { sql } from "../../change.ts";
import { stagedUuid } from "../../imported.ts";
import type { Statement } from "../../statement.ts";
import { removeSlices } from "../removal.ts";
import type { Work } from "../work.ts";
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

/** A chat or session came or went after {@link showStatements} had looked. */
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

/** Statements by which what was staged becomes part of the agent's history. They rely on what is there now. */
export async function showStatements(work: Work, name: string, agentId: string): Promise<Statement[]> {
  const moves = await movesOf(work, name, agentId);
  const joining = moves.filter(({ to }) => to.chat !== undefined);
  const present = [...new Set(moves.flatMap(({ to }) => to.present ?? []))];
  const chats = [...new Set(joining.map(({ to }) => to.chat!))];
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
    ...(joining.length > 0
      ? ["messages", "message_search"].map((table) =>
          sql(
            `UPDATE ${table} m SET chat = r.chat, session = coalesce(r.present, r.id) FROM ${rows}
             WHERE m.session = r.id AND r.chat <> r.staged`,
            json,
          ),
        )
      : []),
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
