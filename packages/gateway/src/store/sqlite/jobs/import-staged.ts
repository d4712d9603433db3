import { idsFor, stagedUuid } from "../../imported.ts";
import type { Connection } from "../connection.ts";
import type { JobContext } from "../protocol.ts";
import { unindexStatements } from "../search/index.ts";
import { removeSlices } from "./removal.ts";

/** In whose name the chats of an import are staged: no agent has such an id. `joining` for chats that exist already. */
export const stagedAs = (name: string) => ({ alone: `import:${name}`, joining: `import+:${name}` });

/** Where the messages of a session belong: the session that exists (`present`), or the id for a new one. */
export function placeFor(
  db: Connection,
  agentId: string,
  chatId: string,
  sessionId: string,
): { uuid: string; chat: number | undefined; present: number | undefined } {
  const known = "SELECT id FROM chats WHERE agent_id = ? AND chat_id = ?";
  const chat = db.get(known, [agentId, chatId])?.id as number | undefined;
  for (const uuid of idsFor(agentId, chatId, sessionId)) {
    const found = db.get("SELECT id, chat FROM sessions WHERE uuid = ?", [uuid]);
    if (!found) return { uuid, chat, present: undefined };
    if (found.chat === chat) return { uuid, chat, present: Number(found.id) };
  }
  throw new Error("a derived session id is taken");
}

interface StagedSession {
  id: number;
  uuid: string;
}

const stagedChats = (db: Connection, name: string) => {
  const { alone, joining } = stagedAs(name);
  return db.all("SELECT id, agent_id, chat_id FROM chats WHERE agent_id IN (?, ?)", [
    alone,
    joining,
  ]) as Array<{
    id: number;
    agent_id: string;
    chat_id: string;
  }>;
};

/** Inside a transaction, the import's last: what was staged becomes part of the agent's history. */
export function showStaged(db: Connection, name: string, agentId: string): void {
  for (const { id: staged, agent_id, chat_id: chatId } of stagedChats(db, name)) {
    const unindexed = agent_id === stagedAs(name).joining;
    const sessions = db.all("SELECT id, uuid FROM sessions WHERE chat = ?", [
      staged,
    ]) as unknown as StagedSession[];
    const chat = db.get("SELECT id FROM chats WHERE agent_id = ? AND chat_id = ?", [agentId, chatId])?.id as
      | number
      | undefined;
    for (const { id, uuid: stagedId } of sessions) {
      const sessionId = stagedId.slice(stagedUuid(name, chatId, "").length);
      const { uuid, present } = placeFor(db, agentId, chatId, sessionId);
      if (chat !== undefined) moveMessages(db, { session: id, chat, present, unindexed });
      if (present === undefined) {
        db.run("UPDATE sessions SET uuid = ?, agent_id = ?, chat = ? WHERE id = ?", [
          uuid,
          agentId,
          chat ?? staged,
          id,
        ]);
      } else joinSession(db, id, present);
    }
    if (chat === undefined) {
      if (unindexed) {
        db.run("INSERT INTO search_queue SELECT id FROM messages WHERE chat = ?", [staged]);
      }
      db.run("UPDATE chats SET agent_id = ? WHERE id = ?", [agentId, staged]);
    } else {
      db.run(
        `UPDATE chats SET message_count = message_count + (SELECT message_count FROM chats WHERE id = ?),
           last_activity = max(last_activity, (SELECT last_activity FROM chats WHERE id = ?)) WHERE id = ?`,
        [staged, staged, chat],
      );
      db.run("DELETE FROM chats WHERE id = ?", [staged]);
    }
  }
}

/** To a chat that exists: search finds messages by chat, so it has to take them in anew. */
function moveMessages(
  db: Connection,
  to: { session: number; chat: number; present: number | undefined; unindexed: boolean },
): void {
  if (!to.unindexed) {
    for (const { sql, params } of unindexStatements("session = ?", [to.session])) db.run(sql, params);
  }
  db.run("INSERT OR IGNORE INTO search_queue SELECT id FROM messages WHERE session = ?", [to.session]);
  db.run("UPDATE messages SET chat = ?, session = ? WHERE session = ?", [
    to.chat,
    to.present ?? to.session,
    to.session,
  ]);
}

function joinSession(db: Connection, staged: number, present: number): void {
  const came = db.get(
    "SELECT message_count, created_at, last_activity, last_message FROM sessions WHERE id = ?",
    [staged],
  ) as { message_count: number; created_at: number; last_activity: number; last_message: string | null };
  if (came.message_count > 0) {
    db.run(
      `UPDATE sessions SET message_count = message_count + ?, created_at = min(created_at, ?),
         last_message = iif(last_message IS NULL OR ? >= last_activity, ?, last_message),
         last_activity = max(last_activity, ?) WHERE id = ?`,
      [
        came.message_count,
        came.created_at,
        came.last_activity,
        came.last_message,
        came.last_activity,
        present,
      ],
    );
  }
  db.run("DELETE FROM sessions WHERE id = ?", [staged]);
}

/** Removes what was staged, in slices; `last` is part of the last of them. */
export async function removeStaged(context: JobContext, name: string, last: () => void): Promise<void> {
  const { db } = context;
  for (const { id, agent_id } of stagedChats(db, name)) {
    const unindexed = agent_id === stagedAs(name).joining;
    await removeSlices(context, id, "SELECT id FROM messages WHERE chat = ?", [id], unindexed);
  }
  await context.slice(() => {
    for (const { id } of stagedChats(db, name)) {
      db.run("DELETE FROM sessions WHERE chat = ?", [id]);
      db.run("DELETE FROM chats WHERE id = ?", [id]);
    }
    last();
  });
}
