import { countFitting } from "../../lib/fitting.ts";
import type { Param } from "../statement.ts";
import type { Sql } from "./port.ts";

/** A chat that has sessions. Times are Unix milliseconds. */
export interface ChatRow {
  chatId: string;
  messageCount: number;
  lastActivity: number;
}

/** A session of a chat as lists show it. */
export interface ListedSession {
  uuid: string;
  chatId: string;
  name: string;
  /** 1 while it has only the name that every new session gets. */
  unnamed: number;
  messageCount: number;
  createdAt: number;
  lastActivity: number;
  lastMessage: string | null;
  /** JSON. */
  imageConfig: string | null;
  /** JSON. */
  videoConfig: string | null;
  model: string | null;
}

/** A message as stored. */
export interface StoredMessage {
  id: number;
  /** 0 user, 1 assistant. */
  role: number;
  content: string;
  ts: number;
  /** JSON of further fields. */
  extra: string | null;
  /** The session's id. */
  uuid: string;
  /** JSON of what the agent did for it, where the reader asked for that and it is stored. */
  steps?: string | null;
}

/** Part of a chat: all of it, or one of its sessions. */
export interface MessageScope {
  agentId: string;
  /** As stored. */
  chatId: string;
  session_id?: string | undefined;
}

/** Which messages to return. `before` and `after` bound `ts`, together with an id the pair (ts, id). */
export interface PageQuery extends MessageScope {
  /** At least 1. */
  limit: number;
  order: "asc" | "desc";
  before?: number | undefined;
  before_id?: number | undefined;
  after?: number | undefined;
  after_id?: number | undefined;
  /** What the agent did for each of its messages, too. */
  include?: "steps" | undefined;
}

/** Messages in the order of the query; `hasMore` when there are others beyond the last one. */
export interface StoredPage {
  messages: StoredMessage[];
  hasMore: boolean;
}

export interface DaysQuery extends MessageScope {
  /** Unix milliseconds: `from` inclusive, `to` exclusive. */
  from: number;
  to: number;
  /** Minutes east of UTC, at most a day either way. */
  tz_offset?: number | undefined;
}

/** Lists and pages of what was said. */
export interface StoredHistory {
  /** Latest first. */
  chats(agentId: string): Promise<ChatRow[]>;
  hasChat(agentId: string, chatId: string): Promise<boolean>;
  /** Sessions of an agent, or of one of its chats, latest first. */
  sessions(agentId: string, chatId?: string): Promise<ListedSession[]>;
  /** One page by index, whatever the size of the chat. `long` for one that may take more than a millisecond or two. */
  page(query: PageQuery, long: boolean): Promise<StoredPage>;
  /** Local days with messages, `YYYY-MM-DD`, ascending. One index look-up per day, however many messages there are. */
  days(query: DaysQuery): Promise<string[]>;
}

/** Bytes of text on a page; a longer message has one to itself. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** Bytes of steps on a page, as JSON. */
const MAX_STEPS_BYTES = 4 * 1024 * 1024;
const DAY_MS = 86_400_000;

/** Columns of {@link StoredMessage} from `messages m` and `sessions s`. */
export const MESSAGE_COLUMNS = "m.id, m.role, m.content, m.ts, m.extra, s.uuid";

/** Condition on `messages m` and its parameter; undefined when there is no such chat or session. */
async function scopeOf(
  read: Sql["read"],
  { agentId, chatId, session_id }: MessageScope,
): Promise<{ column: "chat" | "session"; id: number } | undefined> {
  const [chat] = await read<{ id: number }>("SELECT id FROM chats WHERE agent_id = ? AND chat_id = ?", [
    agentId,
    chatId,
  ]);
  if (!chat || session_id === undefined) return chat && { column: "chat", id: chat.id };
  const [session] = await read<{ id: number }>("SELECT id FROM sessions WHERE uuid = ? AND chat = ?", [
    session_id,
    chat.id,
  ]);
  return session && { column: "session", id: session.id };
}

/** The same, as part of a statement: nothing equals the id of what does not exist. */
function idOf({ agentId, chatId, session_id }: MessageScope): {
  column: string;
  id: string;
  params: Param[];
} {
  if (session_id === undefined) {
    const id = "SELECT id FROM chats WHERE agent_id = ? AND chat_id = ?";
    return { column: "chat", id, params: [agentId, chatId] };
  }
  const id = `SELECT w.id FROM sessions w JOIN chats c ON c.id = w.chat
    WHERE w.uuid = ? AND c.agent_id = ? AND c.chat_id = ?`;
  return { column: "session", id, params: [session_id, agentId, chatId] };
}

/** What all reads of a page share: from where, which, in which order. */
function pageOf(query: PageQuery) {
  const { column, id, params } = idOf(query);
  const where = [`m.${column} = (${id})`];
  const bound = (sign: "<" | ">", ts: number | undefined, id: number | undefined) => {
    if (ts === undefined) return;
    where.push(id === undefined ? `m.ts ${sign} ?` : `(m.ts, m.id) ${sign} (?, ?)`);
    params.push(ts, ...(id === undefined ? [] : [id]));
  };
  bound("<", query.before, query.before_id);
  bound(">", query.after, query.after_id);
  const direction = query.order === "asc" ? "ASC" : "DESC";
  const steps = query.include === "steps" ? "LEFT JOIN message_steps p ON p.message = m.id" : "";
  const rest = `FROM messages m JOIN sessions s ON s.id = m.session ${steps} WHERE ${where.join(" AND ")}
    ORDER BY m.ts ${direction}, m.id ${direction} LIMIT`;
  return { rest, params };
}

/** `written`: the limit stands in the statement, so that a plan made for it serves every page of this size. */
type Select = <T>(columns: string, limit: number, how?: "written") => Promise<T[]>;

/** A page of texts that are certain to fit, in one read; undefined when a text may be too long for that. */
async function shortPage(select: Select, limit: number): Promise<StoredPage | undefined> {
  const share = Math.floor(MAX_PAGE_BYTES / limit);
  // The length stands beside a text, which is not read for it.
  const content = `CASE WHEN octet_length(m.content) <= ${share} THEN m.content END AS content`;
  const columns = MESSAGE_COLUMNS.replace("m.content", content);
  const messages = await select<StoredMessage & { content: string | null }>(columns, limit + 1, "written");
  if (messages.some((message) => message.content === null)) return undefined;
  const hasMore = messages.length > limit;
  if (hasMore) messages.pop();
  return { messages, hasMore };
}

/** A page of as many messages as fit: the first read tells how many those are. */
async function fittingPage(select: Select, limit: number, withSteps: boolean): Promise<StoredPage> {
  const sizes = await select<{ text: number; steps: number }>(
    `octet_length(m.content) AS text, ${withSteps ? "coalesce(octet_length(p.steps), 0)" : "0"} AS steps`,
    limit + 1,
  );
  const fitting = Math.min(
    limit,
    countFitting(
      sizes.map(({ text }) => text),
      MAX_PAGE_BYTES,
    ),
    countFitting(
      sizes.map(({ steps }) => steps),
      MAX_STEPS_BYTES,
    ),
  );
  const columns = withSteps ? `${MESSAGE_COLUMNS}, p.steps` : MESSAGE_COLUMNS;
  const messages = await select<StoredMessage>(columns, fitting);
  // All of them may have been removed between the two reads; then there is no place to go on from.
  return { messages, hasMore: messages.length > 0 && sizes.length > messages.length };
}

export function createHistory({ read, slow }: Sql): StoredHistory {
  return {
    chats: (agentId) =>
      slow<ChatRow>(
        `SELECT chat_id AS "chatId", message_count AS "messageCount", last_activity AS "lastActivity" FROM chats
         WHERE agent_id = ? AND EXISTS (SELECT 1 FROM sessions WHERE chat = chats.id)
         ORDER BY last_activity DESC, id DESC`,
        [agentId],
      ),

    async hasChat(agentId, chatId) {
      const rows = await read("SELECT 1 FROM chats WHERE agent_id = ? AND chat_id = ?", [agentId, chatId]);
      return rows.length > 0;
    },

    sessions: (agentId, chatId) =>
      slow<ListedSession>(
        `SELECT s.uuid, c.chat_id AS "chatId", s.name, s.unnamed, s.message_count AS "messageCount",
           s.created_at AS "createdAt", s.last_activity AS "lastActivity", s.last_message AS "lastMessage",
           s.image_config AS "imageConfig", s.video_config AS "videoConfig", s.model
         FROM chats c JOIN sessions s ON s.chat = c.id
         WHERE c.agent_id = ? ${chatId === undefined ? "" : "AND c.chat_id = ?"}
         ORDER BY s.last_activity DESC, s.id DESC`,
        [agentId, ...(chatId === undefined ? [] : [chatId])],
      ),

    async page(query, long) {
      const { rest, params } = pageOf(query);
      const from = long ? slow : read;
      const select: Select = (columns, limit, how) =>
        how === "written"
          ? from(`SELECT ${columns} ${rest} ${limit}`, params)
          : from(`SELECT ${columns} ${rest} ?`, [...params, limit]);
      const withSteps = query.include === "steps";
      const short = withSteps ? undefined : await shortPage(select, query.limit);
      return short ?? fittingPage(select, query.limit, withSteps);
    },

    async days(query) {
      const { from, to } = query;
      const scope = to > from ? await scopeOf(read, query) : undefined;
      if (!scope) return [];
      const offset = (query.tz_offset ?? 0) * 60_000;
      const first = `SELECT min(ts) FROM messages WHERE ${scope.column} = ? AND ts >=`;
      // Two days more keep the dividend positive, since division rounds towards zero.
      const nextDay = `((found.ts + CAST(? AS BIGINT)) / ${DAY_MS} + 1) * ${DAY_MS} - CAST(? AS BIGINT)`;
      const shift = offset + 2 * DAY_MS;
      const rows = await read<{ ts: number }>(
        `WITH RECURSIVE found (ts) AS (
           SELECT (${first} ? AND ts < ?)
           UNION ALL
           SELECT (${first} ${nextDay} AND ts < ?) FROM found WHERE found.ts IS NOT NULL
         ) SELECT ts FROM found WHERE ts IS NOT NULL`,
        [scope.id, from, to, scope.id, shift, shift, to],
      );
      return rows.map(({ ts }) =>
        new Date(Math.floor((ts + offset) / DAY_MS) * DAY_MS).toISOString().slice(0, 10),
      );
    },
  };
}
