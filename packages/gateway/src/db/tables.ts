/** Rows as they lie in `gateway.db`. Times are Unix milliseconds, booleans 0 or 1, objects JSON text. */
export interface Tables {
  meta: { key: string; value: string };
  chats: {
    id: number;
    agent_id: string;
    chat_id: string;
    message_count: number;
    last_activity: number;
    /** Latest `ts` among the messages that search has indexed. */
    indexed_ts: number;
    /** 1 once an indexed message was older than one with a lower id (an import, a clock set back). */
    disordered: number;
  };
  sessions: {
    id: number;
    uuid: string;
    chat: number;
    agent_id: string;
    name: string;
    /** 1 while the name is still the placeholder that the first prompt replaces. */
    unnamed: number;
    created_at: number;
    last_activity: number;
    message_count: number;
    last_message: string | null;
    image_config: string | null;
    video_config: string | null;
    /** Real model of the latest turn. */
    model: string | null;
    /** Model chosen with `/model` for this session only. */
    model_override: string | null;
    context_percent: number;
    /** JSON of the runtime's own session: `{type, token, upto}`; `upto` is the last message id it holds. */
    runtime_state: string | null;
    /** Summary left by the latest compaction; messages up to `summary_upto` are covered by it. */
    summary: string | null;
    summary_upto: number;
  };
  messages: {
    id: number;
    chat: number;
    session: number;
    /** 0 user, 1 assistant. */
    role: number;
    content: string;
    ts: number;
    /** JSON: `{interrupted?, senderName?, attachments?, mediaFiles?}`; null when none applies. */
    extra: string | null;
  };
  /** One row a turn; `running` rows at start are turns that a crash cut off. */
  turns: {
    id: number;
    request_id: string;
    session: number;
    kind: string;
    state: "running" | "done" | "interrupted" | "failed";
    started_at: number;
    ended_at: number | null;
  };
  /** Text of a running turn, appended as it comes, so that a crash keeps it. */
  turn_parts: { id: number; request_id: string; text: string };
  message_media: { message: number; agent_id: string; path: string };
  shares: {
    id: string;
    token_hash: string;
    agent_id: string;
    session: string;
    path: string;
    expires_at: number;
    created_at: number;
  };
}
