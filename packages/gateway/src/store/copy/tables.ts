/** A table that every driver has. */
export interface CopiedTable {
  name: string;
  /** The columns that order its rows; each row has a key of its own. */
  key: readonly string[];
  /** The column that makes a row large. */
  large?: string;
}

/**
 * What a store consists of, in an order in which rows find what they refer to. What each driver derives from it, as the
 * indexes of search, is not part of it, nor who owns an agent at the moment.
 */
export const COPIED: readonly CopiedTable[] = [
  { name: "meta", key: ["key"] },
  { name: "id_blocks", key: ["name"] },
  { name: "event_numbers", key: ["last"] },
  { name: "chats", key: ["id"] },
  { name: "sessions", key: ["id"] },
  { name: "messages", key: ["id"], large: "content" },
  { name: "message_steps", key: ["message"], large: "steps" },
  { name: "message_media", key: ["agent_id", "path", "message"] },
  { name: "turns", key: ["id"] },
  { name: "turn_parts", key: ["id"], large: "text" },
  { name: "shares", key: ["id"] },
  { name: "channel_inbox", key: ["id"], large: "message" },
  { name: "channel_outbox", key: ["id"], large: "content" },
  { name: "channel_positions", key: ["agent_id", "channel", "account"] },
  { name: "logins", key: ["digest"] },
  { name: "jobs", key: ["kind", "key"] },
  { name: "crons", key: ["id"] },
  { name: "cron_runs", key: ["id"] },
  { name: "events", key: ["id"] },
  { name: "usage", key: ["id"] },
  { name: "usage_days", key: ["day", "agent_id", "key_id", "model", "source", "session"] },
];

/** Tables that hold a row from the beginning. */
export const PREFILLED: readonly string[] = ["id_blocks", "event_numbers"];

/** Key of `meta` under which a store says that a copy into it has not ended. */
export const COPYING = "copying";

/** Keys of `meta` that say something about one store alone. */
export const isOwnMeta = (key: unknown): boolean =>
  /^(?:version|oldest|oldest_gateway|search_unicode|copy:.*|copying)$/.test(String(key));

/** Columns that a driver derives from the others. */
export const isDerived = (table: string, column: string): boolean =>
  table === "chats" && ["indexed_ts", "indexed_id", "disordered"].includes(column);
