import { fingerprint, previewOf, rowOf, sessionNameOf, stagedUuid } from "../../imported.ts";
import type { ImportedMessage } from "../../imports.ts";
import type { Connection } from "../connection.ts";
import { placeFor, stagedAs } from "./import-staged.ts";

/** The staged session that imported messages go to, with what came in during this transaction. */
interface Target {
  session: number;
  chat: number;
  /** The chat exists, so that its messages will move there. */
  joins: boolean;
  /** The session that they will be part of, if it exists. */
  present: number | undefined;
  count: number;
  earliest: number;
  latest: number;
  preview: string;
}

const MAX_GROUPS = 1000;

/**
 * Stores the messages of an import that are not there yet in chats and sessions of its own, which nobody else finds
 * until {@link showStaged}. Messages of a chat that exists stay out of search until then, because there they are found
 * by chat.
 * @param ids for the messages: as many as there are lines
 */
export function createImportTarget(
  db: Connection,
  importing: { name: string; agentId: string },
  ids: { first: number; count: number },
) {
  let nextId = ids.first;
  const { name: importName, agentId } = importing;
  const hidden = stagedAs(importName);
  const targets = new Map<string, Target>();
  const met = new Set<string>();
  const dirty = new Set<Target>();
  /** Messages already stored for the latest (session, ts) of each session; a `ts` may be shared by very many. */
  const groups = new Map<number, { ts: number; seen: Set<string> }>();

  const chatRow = (line: ImportedMessage): { chat: number; joins: boolean } => {
    const known = "SELECT id FROM chats WHERE agent_id = ? AND chat_id = ?";
    const find = (owner: string) => db.get(known, [owner, line.chatId])?.id as number | undefined;
    const staged = find(hidden.alone);
    if (staged !== undefined) return { chat: staged, joins: false };
    const joining = find(hidden.joining);
    if (joining !== undefined) return { chat: joining, joins: true };
    const joins = find(agentId) !== undefined;
    const insert = "INSERT INTO chats (agent_id, chat_id, last_activity) VALUES (?, ?, ?)";
    const owner = joins ? hidden.joining : hidden.alone;
    return { chat: db.run(insert, [owner, line.chatId, line.ts]).lastInsertRowid, joins };
  };

  const sessionRow = (line: ImportedMessage, chat: number): number => {
    const uuid = stagedUuid(importName, line.chatId, line.sessionId);
    const found = db.get("SELECT id FROM sessions WHERE uuid = ?", [uuid])?.id;
    if (found !== undefined) return Number(found);
    const { name, unnamed } = sessionNameOf(line);
    return db.run(
      `INSERT INTO sessions (uuid, chat, agent_id, name, unnamed, created_at, last_activity)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      [uuid, chat, hidden.alone, name, unnamed, line.ts, line.ts],
    ).lastInsertRowid;
  };

  const targetOf = (line: ImportedMessage): Target => {
    const key = `${line.chatId}\0${line.sessionId}`;
    let target = targets.get(key);
    if (!target) {
      const { chat, joins } = chatRow(line);
      target = {
        session: sessionRow(line, chat),
        chat,
        joins,
        present: joins ? placeFor(db, agentId, line.chatId, line.sessionId).present : undefined,
        count: 0,
        earliest: line.ts,
        latest: -1,
        preview: "",
      };
      targets.set(key, target);
      met.add(key);
    }
    return target;
  };

  const seenAt = ({ session, present }: Target, ts: number): Set<string> => {
    const group = groups.get(session);
    if (group?.ts === ts) return group.seen;
    const rows = db.all("SELECT role, content FROM messages WHERE session IN (?, ?) AND ts = ?", [
      session,
      present ?? session,
      ts,
    ]);
    const seen = new Set(rows.map((row) => fingerprint(Number(row.role), String(row.content))));
    if (groups.size >= MAX_GROUPS) groups.clear();
    groups.set(session, { ts, seen });
    return seen;
  };

  return {
    /** Sessions met so far. */
    get sessions() {
      return met.size;
    },

    /** Stores the message; false when it is there already. */
    add(line: ImportedMessage): boolean {
      const target = targetOf(line);
      const { role, content, extra, steps } = rowOf(line);
      const seen = seenAt(target, line.ts);
      const mark = fingerprint(role, content);
      if (seen.has(mark)) return false;
      seen.add(mark);
      const id = nextId++;
      if (id >= ids.first + ids.count) throw new Error("the file has more lines than were counted");
      db.run(
        "INSERT INTO messages (id, chat, session, role, content, ts, extra) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [id, target.chat, target.session, role, content, line.ts, extra],
      );
      if (steps !== null) {
        db.run("INSERT INTO message_steps (message, steps) VALUES (?, ?)", [id, steps]);
      }
      if (target.joins) db.run("DELETE FROM search_queue WHERE message = ?", [id]);
      dirty.add(target);
      target.count++;
      target.earliest = Math.min(target.earliest, line.ts);
      if (line.ts >= target.latest) {
        target.latest = line.ts;
        if (content !== "") target.preview = previewOf(content);
      }
      return true;
    },

    /**
     * Brings the counters up to date with the messages added; at the end of the same transaction. Rows are looked up
     * anew in the next: a session may be deleted in between.
     */
    settle(): void {
      for (const { session, chat, count, earliest, latest, preview } of dirty) {
        db.run(
          `UPDATE sessions SET message_count = message_count + ?, created_at = min(created_at, ?),
             last_message = iif(last_message IS NULL OR ? >= last_activity, ?, last_message),
             last_activity = max(last_activity, ?) WHERE id = ?`,
          [count, earliest, latest, preview, latest, session],
        );
        db.run(
          "UPDATE chats SET message_count = message_count + ?, last_activity = max(last_activity, ?) WHERE id = ?",
          [count, latest, chat],
        );
      }
      dirty.clear();
      targets.clear();
    },
  };
}
