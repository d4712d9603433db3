import { sql } from "../../change.ts";
import { fold } from "../../fold.ts";
import { fingerprint, idsFor, previewOf, rowOf, sessionNameOf, stagedUuid } from "../../imported.ts";
import type { ImportedLine, ImportedMessage } from "../../imports.ts";
import type { Statement } from "../../statement.ts";
import type { Work } from "../work.ts";

export type Numbered = ImportedLine;

/** In whose name the chats of an import are staged: no agent has such an id. */
export const stagedAs = (name: string) => `import:${name}`;

/** The staged session that imported messages go to. */
interface Target {
  uuid: string;
  session: number;
  chat: number;
}
/** What a unit adds to a session. */
interface Sum {
  count: number;
  earliest: number;
  latest: number;
  preview: string;
}
interface NewRow {
  id: number;
  chat: number;
  session: number;
  role: number;
  content: string;
  ts: number;
  extra: string | null;
  steps: string | null;
  folded: string;
}

const keyOf = ({ chatId, sessionId }: ImportedMessage) => `${chatId}\0${sessionId}`;
const MAX_GROUPS = 1000;

const ROWS = `json_to_recordset(?::json) AS r(id bigint, chat bigint, session bigint, role bigint, content text,
  ts bigint, extra text, steps text, folded text)`;

/**
 * Prepares units that store the messages of an import that are not there yet, in chats and sessions of its own, which
 * nobody else finds until they are shown.
 * @param ids for the messages: as many as there are lines
 */
export function createStaging(
  work: Work,
  importing: { name: string; agentId: string },
  ids: { first: number; count: number },
) {
  const owner = stagedAs(importing.name);
  let nextId = ids.first;
  const targets = new Map<string, Target>();
  /** Fingerprints of the messages at the latest time of each session; a time may be shared by very many. */
  const groups = new Map<number, { ts: number; seen: Set<string> }>();

  /** Rows for the chats and sessions that the import had not met. */
  const meet = async (batch: readonly ImportedMessage[]) => {
    const fresh = new Map<string, ImportedMessage>();
    for (const message of batch) if (!targets.has(keyOf(message))) fresh.set(keyOf(message), message);
    if (fresh.size === 0) return;
    const rows = JSON.stringify(
      [...fresh.values()].map((message, n) => ({
        n,
        uuid: stagedUuid(importing.name, message.chatId, message.sessionId),
        chat: message.chatId,
        ts: message.ts,
        ...sessionNameOf(message),
      })),
    );
    await work.write([
      sql(
        `INSERT INTO chats (agent_id, chat_id, last_activity)
         SELECT ?, chat, max(ts) FROM json_to_recordset(?::json) AS r(n bigint, chat text, ts bigint)
         GROUP BY chat ORDER BY min(n) ON CONFLICT DO NOTHING`,
        owner,
        rows,
      ),
      sql(
        `INSERT INTO sessions (uuid, chat, agent_id, name, unnamed, created_at, last_activity)
         SELECT r.uuid, c.id, ?, r.name, r.unnamed, r.ts, r.ts
         FROM json_to_recordset(?::json) AS r(n bigint, uuid text, chat text, name text, unnamed bigint, ts bigint)
         JOIN chats c ON c.agent_id = ? AND c.chat_id = r.chat ORDER BY r.n ON CONFLICT DO NOTHING`,
        owner,
        rows,
        owner,
      ),
    ]);
    const found = await work.read<{ uuid: string; session: number; chat: number }>(
      `SELECT uuid, id AS session, chat FROM sessions
       WHERE uuid IN (SELECT uuid FROM json_to_recordset(?::json) AS r(uuid text))`,
      [rows],
    );
    const byUuid = new Map(found.map((row) => [row.uuid, row]));
    for (const [key, { chatId, sessionId }] of fresh) {
      targets.set(key, byUuid.get(stagedUuid(importing.name, chatId, sessionId))!);
    }
  };

  /** Which sessions that exist the messages will be part of, by key. */
  const presentOf = async (batch: readonly ImportedMessage[]): Promise<Map<string, number>> => {
    const wanted = new Map(batch.map((message) => [keyOf(message), message]));
    const places = await placesOf(work, importing.agentId, [...wanted.values()]);
    return new Map([...places].flatMap(([key, { present }]) => (present ? [[key, present] as const] : [])));
  };

  /** The messages that are stored at the times of these, by session and time. */
  const seenAt = async (batch: readonly ImportedMessage[]) => {
    const present = await presentOf(batch);
    const asked = new Map<string, { session: number; other: number; ts: number }>();
    for (const message of batch) {
      const { session } = targets.get(keyOf(message))!;
      if (groups.get(session)?.ts === message.ts) continue;
      const other = present.get(keyOf(message)) ?? session;
      asked.set(`${session}:${message.ts}`, { session, other, ts: message.ts });
    }
    const rows = await work.read<{ session: number; ts: number; role: number; content: string }>(
      `SELECT q.session, q.ts, m.role, m.content
       FROM json_to_recordset(?::json) AS q(session bigint, other bigint, ts bigint)
       JOIN messages m ON m.session IN (q.session, q.other) AND m.ts = q.ts`,
      [JSON.stringify([...asked.values()])],
    );
    const seen = new Map<string, Set<string>>([...asked.keys()].map((key) => [key, new Set()]));
    for (const { session, ts, role, content } of rows) {
      seen.get(`${session}:${ts}`)!.add(fingerprint(role, content));
    }
    return seen;
  };

  const statementsFor = (rows: readonly NewRow[], sums: ReadonlyMap<number, Sum>): Statement[] => {
    if (rows.length === 0) return [];
    const json = JSON.stringify(rows);
    const totals = JSON.stringify([...sums].map(([session, sum]) => ({ session, ...sum })));
    const recordset = `json_to_recordset(?::json) AS r(session bigint, count bigint, earliest bigint, latest bigint,
      preview text)`;
    return [
      sql(
        `INSERT INTO messages (id, chat, session, role, content, ts, extra)
         SELECT id, chat, session, role, content, ts, extra FROM ${ROWS}`,
        json,
      ),
      sql(
        `INSERT INTO message_search (message, chat, session, ts, folded) SELECT id, chat, session, ts, folded FROM ${ROWS}`,
        json,
      ),
      ...(rows.some(({ steps }) => steps !== null)
        ? [
            sql(
              `INSERT INTO message_steps (message, steps) SELECT id, steps FROM ${ROWS} WHERE steps IS NOT NULL`,
              json,
            ),
          ]
        : []),
      sql(
        `UPDATE sessions s SET message_count = s.message_count + r.count, created_at = least(s.created_at, r.earliest),
           last_message = CASE WHEN s.last_message IS NULL OR r.latest >= s.last_activity THEN r.preview
             ELSE s.last_message END,
           last_activity = greatest(s.last_activity, r.latest) FROM ${recordset} WHERE s.id = r.session`,
        totals,
      ),
      sql(
        `UPDATE chats c SET message_count = c.message_count + r.count,
           last_activity = greatest(c.last_activity, r.latest)
         FROM (SELECT s.chat, sum(r.count)::bigint AS count, max(r.latest) AS latest
           FROM ${recordset} JOIN sessions s ON s.id = r.session GROUP BY s.chat) r WHERE c.id = r.chat`,
        totals,
      ),
    ];
  };

  return {
    /** Sessions met so far. */
    get sessions() {
      return targets.size;
    },

    /**
     * What stores the messages of a unit that are not there yet, and how many those are. May be asked again where it
     * failed: what it has stored by then is found the second time.
     */
    async unit(lines: readonly Numbered[]): Promise<{ statements: Statement[]; added: number }> {
      const batch = lines.map(({ message }) => message);
      await meet(batch);
      const seen = await seenAt(batch);
      const rows: NewRow[] = [];
      const sums = new Map<number, Sum>();
      for (const message of batch) {
        const { session, chat } = targets.get(keyOf(message))!;
        const { ts } = message;
        const row = rowOf(message);
        const group = groups.get(session);
        const there = group?.ts === ts ? group.seen : seen.get(`${session}:${ts}`)!;
        if (groups.size >= MAX_GROUPS && !group) groups.clear();
        groups.set(session, { ts, seen: there });
        // A time that comes back later in the unit finds what the unit added.
        seen.set(`${session}:${ts}`, there);
        const mark = fingerprint(row.role, row.content);
        if (there.has(mark)) continue;
        there.add(mark);
        const id = nextId++;
        if (id >= ids.first + ids.count) throw new Error("the file has more lines than were counted");
        rows.push({ id, chat, session, ts, ...row, folded: fold(row.content) });
        const sum = sums.get(session) ?? { count: 0, earliest: ts, latest: -1, preview: "" };
        sum.count++;
        sum.earliest = Math.min(sum.earliest, ts);
        if (ts >= sum.latest) {
          sum.latest = ts;
          if (row.content !== "") sum.preview = previewOf(row.content);
        }
        sums.set(session, sum);
      }
      return { statements: statementsFor(rows, sums), added: rows.length };
    },
  };
}

/** Where the messages of a session belong: the session that exists (`present`), or the id for a new one. */
export interface Place {
  uuid: string;
  /** Row of the chat, if it exists. */
  chat: number | undefined;
  present: number | undefined;
}

/** The places of several sessions, of which the first ones come first to a free id, by `chatId` and `sessionId` with U+0000 between. */
export async function placesOf(
  { read }: Pick<Work, "read">,
  agentId: string,
  sessions: ReadonlyArray<{ chatId: string; sessionId: string }>,
): Promise<Map<string, Place>> {
  const candidates = sessions.map((session) => ({
    ...session,
    uuids: idsFor(agentId, session.chatId, session.sessionId),
  }));
  const chats = await read<{ id: number; chat_id: string }>(
    `SELECT id, chat_id FROM chats
     WHERE agent_id = ? AND chat_id IN (SELECT chat FROM json_to_recordset(?::json) AS r(chat text))`,
    [agentId, JSON.stringify([...new Set(sessions.map(({ chatId }) => chatId))].map((chat) => ({ chat })))],
  );
  const found = await read<{ uuid: string; id: number; chat: number }>(
    `SELECT uuid, id, chat FROM sessions
     WHERE uuid IN (SELECT uuid FROM json_to_recordset(?::json) AS r(uuid text))`,
    [JSON.stringify(candidates.flatMap(({ uuids }) => uuids).map((uuid) => ({ uuid })))],
  );
  const chatOf = new Map(chats.map(({ id, chat_id }) => [chat_id, id]));
  const sessionOf = new Map(found.map((row) => [row.uuid, row]));
  const taken = new Set<string>();
  return new Map(
    candidates.map(({ chatId, sessionId, uuids }) => {
      const chat = chatOf.get(chatId);
      const uuid = uuids.find((id) => {
        const row = sessionOf.get(id);
        return row ? row.chat === chat : !taken.has(id);
      });
      if (uuid === undefined) throw new Error("a derived session id is taken");
      taken.add(uuid);
      return [`${chatId}\0${sessionId}`, { uuid, chat, present: sessionOf.get(uuid)?.id }] as const;
    }),
  );
}
