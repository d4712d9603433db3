/** Rows as stored. Times are Unix milliseconds, booleans 0 or 1, objects JSON text. */
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
    /** Highest id among them. */
    indexed_id: number;
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
    /** Model that answered the latest turn. */
    model: string | null;
    /** Model chosen with `/model` for this session only. */
    model_override: string | null;
    context_percent: number;
    /** JSON of the runtime's own session: `{type, token, upto}`; `upto` is the last message id it contains. */
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
    /** JSON: `{interrupted?, senderName?, attachments?, mediaFiles?, error?}`; null when it would be empty. */
    extra: string | null;
  };
  /** One row per turn; rows still `running` at start are turns that a crash cut off. */
  turns: {
    id: number;
    request_id: string;
    session: number;
    kind: string;
    state: "running" | "done" | "interrupted" | "failed";
    started_at: number;
    ended_at: number | null;
    /** The API key that caused it. */
    key_id: string | null;
    /** Length of what the agent was told, in characters. */
    told_chars: number | null;
  };
  /** Text of a running turn, appended as it arrives, so that it survives a crash. */
  turn_parts: { id: number; request_id: string; text: string };
  message_media: { message: number; agent_id: string; path: string };
  /** What the agent did for a message, as JSON; kept apart from the message, which is read far more often. */
  message_steps: { message: number; steps: string };
  shares: {
    id: string;
    token_hash: string;
    agent_id: string;
    session: string;
    path: string;
    /** Identity of the file when it was shared; null in rows of versions that did not record it. */
    identity: string | null;
    expires_at: number;
    created_at: number;
  };
  /** Channel messages; each of the provider's events is stored once. */
  channel_inbox: {
    id: number;
    agent_id: string;
    channel: string;
    /** Account of `devicechat`; empty elsewhere. */
    account: string;
    /** The provider's id of the event. */
    event_id: string;
    /** The provider's id of the chat. */
    chat_id: string;
    message_id: string | null;
    /** Unique within a chat: `teamchat` reports a mention as two events. */
    message_key: string | null;
    /** The group that its chat belongs to, empty for a direct one; null in rows of versions that did not record it. */
    group_id: string | null;
    sender_id: string;
    /** JSON of the message as the adapter produced it; null once it is settled. */
    message: string | null;
    /** `command` waits for nothing, `waiting` for its turn, `turn` is with the agent; the other states are settled. */
    state: "waiting" | "command" | "turn" | "done" | "denied";
    /** The turn's request id; set together with the turn's own row. */
    request_id: string | null;
    session: string | null;
    /** Row of the user message in `messages`; a turn that runs again does not store a second one. */
    user_message: number | null;
    received_at: number;
    started_at: number | null;
    settled_at: number | null;
    /** Anything else worth knowing about it, for the trace. */
    note: string | null;
  };
  /** Outgoing messages, one row per provider message. */
  channel_outbox: {
    id: number;
    agent_id: string;
    channel: string;
    account: string;
    chat_id: string;
    /** The message that it replies to. */
    inbox: number | null;
    /** The run of a scheduled job whose reply it is. */
    run: number | null;
    purpose: "reply" | "knock" | "notice" | "handshake" | "progress" | "direct";
    /** UUID, the same for every attempt. */
    key: string;
    /** JSON: the recipient. */
    target: string;
    /** JSON: the content; null once sent, also by another row. */
    content: string | null;
    state: "pending" | "sending" | "sent" | "failed" | "unknown";
    attempts: number;
    next_at: number;
    created_at: number;
    sending_at: number | null;
    /** When the first attempt with an unknown outcome began. */
    uncertain_at: number | null;
    settled_at: number | null;
    /** Id that the provider assigned to it. */
    provider_id: string | null;
    reason: string | null;
  };
  /** Each connection's position in its provider's stream of events. */
  channel_positions: { agent_id: string; channel: string; account: string; value: string };
  /** Work that has its time, unique by kind and key. */
  jobs: {
    kind: string;
    key: string;
    /** Id of an agent, `node:` and the name of a node, or empty for work of the store as a whole. */
    owner: string;
    state: "waiting" | "running" | "failed" | "interrupted";
    /** Raised by each claim: only its holder's unit may end the run. */
    fence: number;
    /** Attempts since the latest success. */
    attempts: number;
    /** When `next_at` was decided, or when a closed job was closed. */
    planned_at: number;
    next_at: number;
    /** Process that runs it. */
    holder: string | null;
    /** How long a claim lasts at most; another process measures it by its own clock. */
    lease_ms: number | null;
    /** JSON: what the kind needs to know. */
    payload: string | null;
    /** Why the latest run failed. */
    note: string | null;
  };
}
