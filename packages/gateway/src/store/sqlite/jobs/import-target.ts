import { createHash } from "node:crypto";
import { oneLine } from "../../../lib/one-line.ts";
import type { ImportedMessage } from "../../imports.ts";
import type { Connection } from "../connection.ts";

/** A session that imported messages go to, with what came in during this transaction. */
interface Target {
  session: number;
  chat: number;
  count: number;
  earliest: number;
  latest: number;
  preview: string;
}

/** Names a folder, like the ids that the gateway mints. */
const KEEPABLE = /^(?!\.{1,2}$|-)[A-Za-z0-9._-]{1,128}$/;
const DEFAULT_NAME = "Imported session";
const PREVIEW_CHARS = 200;
const MAX_NAME_CHARS = 1000;
const MAX_GROUPS = 1000;

/** Id for a session whose own is taken or cannot name a folder: the same each time, so that an import can be repeated. */
function derivedId(agentId: string, { chatId, sessionId }: ImportedMessage): string {
  const hex = createHash("sha256").update(`${agentId}\0${chatId}\0${sessionId}`).digest("hex");
  // Version 8 and variant 10 of RFC 9562.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Finds and makes the chats and sessions of an import, and stores messages that are not there yet. */
export function createImportTarget(db: Connection, agentId: string) {
  const targets = new Map<string, Target>();
  const met = new Set<string>();
  const dirty = new Set<Target>();
  /** Messages already stored for the latest (session, ts) of each session; a `ts` may be shared by very many. */
  const groups = new Map<number, { ts: number; seen: Set<string> }>();

  const chatRow = (line: ImportedMessage): number => {
    const known = "SELECT id FROM chats WHERE agent_id = ? AND chat_id = ?";
    const found = db.get(known, [agentId, line.chatId])?.id;
    if (found !== undefined) return Number(found);
    const insert = "INSERT INTO chats (agent_id, chat_id, last_activity) VALUES (?, ?, ?)";
    return db.run(insert, [agentId, line.chatId, line.ts]).lastInsertRowid;
  };

  const sessionRow = (line: ImportedMessage, chat: number): number => {
    for (const uuid of [line.sessionId, derivedId(agentId, line)]) {
      if (!KEEPABLE.test(uuid)) continue;
      const found = db.get("SELECT id, chat FROM sessions WHERE uuid = ?", [uuid]);
      if (found?.chat === chat) return Number(found.id);
      if (found) continue;
      const name = oneLine(line.sessionName, MAX_NAME_CHARS) ?? null;
      return db.run(
        `INSERT INTO sessions (uuid, chat, agent_id, name, unnamed, created_at, last_activity)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        [uuid, chat, agentId, name ?? DEFAULT_NAME, name === null ? 1 : 0, line.ts, line.ts],
      ).lastInsertRowid;
    }
    throw new Error("a derived session id is taken");
  };

  const targetOf = (line: ImportedMessage): Target => {
    const key = `${line.chatId}\0${line.sessionId}`;
    let target = targets.get(key);
    if (!target) {
      const chat = chatRow(line);
      target = {
        session: sessionRow(line, chat),
        chat,
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

  const fingerprint = (role: number, content: string) =>
    `${role}${content.length < 64 ? content : createHash("sha256").update(content).digest("base64")}`;

  const seenAt = (session: number, ts: number): Set<string> => {
    const group = groups.get(session);
    if (group?.ts === ts) return group.seen;
    const rows = db.all("SELECT role, content FROM messages WHERE session = ? AND ts = ?", [session, ts]);
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
      const role = line.role === "user" ? 0 : 1;
      const content = line.content.toWellFormed();
      const seen = seenAt(target.session, line.ts);
      const mark = fingerprint(role, content);
      if (seen.has(mark)) return false;
      seen.add(mark);
      const { interrupted, error } = line;
      const senderName = oneLine(line.senderName, MAX_NAME_CHARS);
      const extra =
        interrupted || error || senderName !== undefined
          ? JSON.stringify({ interrupted, senderName, error })
          : null;
      const { lastInsertRowid } = db.run(
        "INSERT INTO messages (chat, session, role, content, ts, extra) VALUES (?, ?, ?, ?, ?, ?)",
        [target.chat, target.session, role, content, line.ts, extra],
      );
      if (line.steps && line.steps.length > 0 && role === 1) {
        const steps = JSON.stringify(line.steps).toWellFormed();
        db.run("INSERT INTO message_steps (message, steps) VALUES (?, ?)", [lastInsertRowid, steps]);
      }
      dirty.add(target);
      target.count++;
      target.earliest = Math.min(target.earliest, line.ts);
      if (line.ts >= target.latest) {
        target.latest = line.ts;
        if (content !== "") target.preview = content.slice(0, PREVIEW_CHARS);
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
