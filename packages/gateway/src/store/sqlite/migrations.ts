/** Steps from one schema version to the next; `user_version` counts how many have run. Never edit a released one. */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE chats (
     id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, chat_id TEXT NOT NULL,
     message_count INTEGER NOT NULL DEFAULT 0, last_activity INTEGER NOT NULL,
     indexed_ts INTEGER NOT NULL DEFAULT 0, disordered INTEGER NOT NULL DEFAULT 0,
     UNIQUE (agent_id, chat_id));
   CREATE TABLE sessions (
     id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, chat INTEGER NOT NULL REFERENCES chats (id),
     agent_id TEXT NOT NULL, name TEXT NOT NULL, unnamed INTEGER NOT NULL DEFAULT 0,
     created_at INTEGER NOT NULL, last_activity INTEGER NOT NULL,
     message_count INTEGER NOT NULL DEFAULT 0, last_message TEXT,
     image_config TEXT, video_config TEXT, model TEXT, model_override TEXT,
     context_percent REAL NOT NULL DEFAULT 0, runtime_state TEXT,
     summary TEXT, summary_upto INTEGER NOT NULL DEFAULT 0);
   CREATE INDEX sessions_chat ON sessions (chat);
   CREATE TABLE messages (
     id INTEGER PRIMARY KEY AUTOINCREMENT, chat INTEGER NOT NULL, session INTEGER NOT NULL,
     role INTEGER NOT NULL, content TEXT NOT NULL, ts INTEGER NOT NULL, extra TEXT);
   CREATE INDEX messages_chat ON messages (chat, ts, id);
   CREATE INDEX messages_session ON messages (session, ts, id);
   CREATE INDEX messages_long ON messages (chat, id) WHERE octet_length(content) > 65536;
   CREATE TABLE turns (
     id INTEGER PRIMARY KEY, request_id TEXT NOT NULL, session INTEGER NOT NULL,
     kind TEXT NOT NULL, state TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER);
   CREATE INDEX turns_running ON turns (session) WHERE state = 'running';
   CREATE TABLE turn_parts (id INTEGER PRIMARY KEY, request_id TEXT NOT NULL, text TEXT NOT NULL);
   CREATE INDEX turn_parts_request ON turn_parts (request_id);
   CREATE TABLE message_media (
     message INTEGER NOT NULL, agent_id TEXT NOT NULL, path TEXT NOT NULL,
     PRIMARY KEY (agent_id, path, message)) WITHOUT ROWID;
   CREATE INDEX message_media_message ON message_media (message);
   CREATE TABLE shares (
     id TEXT PRIMARY KEY, token_hash TEXT NOT NULL UNIQUE, agent_id TEXT NOT NULL, session TEXT NOT NULL,
     path TEXT NOT NULL, expires_at INTEGER NOT NULL, created_at INTEGER NOT NULL) WITHOUT ROWID;
   CREATE VIRTUAL TABLE search_text USING fts5 (
     chat, content, tokenize = 'trigram case_sensitive 1', content = '', columnsize = 0);
   CREATE VIRTUAL TABLE search_grams USING fts5 (
     grams, tokenize = "ascii tokenchars '_'", content = '', columnsize = 0, detail = none);
   INSERT INTO search_text (search_text, rank) VALUES ('hashsize', 4194304);
   INSERT INTO search_grams (search_grams, rank) VALUES ('hashsize', 4194304);
   INSERT INTO meta (key, value) VALUES ('search_upto', '0');`,
  `CREATE TABLE channel_inbox (
     id INTEGER PRIMARY KEY AUTOINCREMENT, agent_id TEXT NOT NULL, channel TEXT NOT NULL, account TEXT NOT NULL,
     event_id TEXT NOT NULL, chat_id TEXT NOT NULL, message_id TEXT, sender_id TEXT NOT NULL,
     message TEXT, state TEXT NOT NULL, request_id TEXT, session TEXT, user_message INTEGER,
     received_at INTEGER NOT NULL, started_at INTEGER, settled_at INTEGER, note TEXT,
     UNIQUE (agent_id, channel, account, event_id));
   CREATE UNIQUE INDEX channel_inbox_message ON channel_inbox (agent_id, channel, account, chat_id, message_id)
     WHERE channel = 'teamchat' AND message_id IS NOT NULL;
   CREATE INDEX channel_inbox_open ON channel_inbox (agent_id, channel, chat_id, id)
     WHERE state IN ('waiting', 'command', 'turn');
   CREATE INDEX channel_inbox_last ON channel_inbox (agent_id, channel);
   CREATE INDEX channel_inbox_request ON channel_inbox (request_id) WHERE request_id IS NOT NULL;
   CREATE INDEX channel_inbox_settled ON channel_inbox (settled_at) WHERE settled_at IS NOT NULL;
   CREATE TABLE channel_outbox (
     id INTEGER PRIMARY KEY AUTOINCREMENT, agent_id TEXT NOT NULL, channel TEXT NOT NULL, account TEXT NOT NULL,
     chat_id TEXT NOT NULL, inbox INTEGER, purpose TEXT NOT NULL, key TEXT NOT NULL, target TEXT NOT NULL,
     content TEXT, state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, next_at INTEGER NOT NULL,
     created_at INTEGER NOT NULL, sending_at INTEGER, settled_at INTEGER, provider_id TEXT, reason TEXT);
   CREATE INDEX channel_outbox_open ON channel_outbox (agent_id, channel, account, chat_id, id)
     WHERE state IN ('pending', 'sending');
   CREATE INDEX channel_outbox_last ON channel_outbox (agent_id, channel);
   CREATE INDEX channel_outbox_inbox ON channel_outbox (inbox) WHERE inbox IS NOT NULL;
   CREATE INDEX channel_outbox_provider ON channel_outbox (agent_id, provider_id) WHERE provider_id IS NOT NULL;
   CREATE INDEX channel_outbox_settled ON channel_outbox (settled_at) WHERE settled_at IS NOT NULL;
   CREATE TABLE channel_positions (
     agent_id TEXT NOT NULL, channel TEXT NOT NULL, account TEXT NOT NULL, value TEXT NOT NULL,
     PRIMARY KEY (agent_id, channel, account)) WITHOUT ROWID;`,
  `ALTER TABLE channel_inbox ADD COLUMN message_key TEXT;
   DROP INDEX channel_inbox_message;
   CREATE UNIQUE INDEX channel_inbox_message ON channel_inbox (agent_id, channel, account, chat_id, message_key)
     WHERE message_key IS NOT NULL;`,
  `CREATE TABLE message_steps (message INTEGER PRIMARY KEY, steps TEXT NOT NULL);`,
  "ALTER TABLE shares ADD COLUMN identity TEXT;",
  `ALTER TABLE channel_outbox ADD COLUMN uncertain_at INTEGER;
   CREATE INDEX channel_outbox_unsettled ON channel_outbox (agent_id, state, id)
     WHERE state IN ('unknown', 'failed');`,
  `CREATE TABLE logins (digest TEXT PRIMARY KEY, key_id TEXT NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID;`,
  `CREATE TABLE search_queue (message INTEGER PRIMARY KEY);
   INSERT INTO search_queue SELECT id FROM messages
     WHERE id > (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'search_upto');
   DELETE FROM meta WHERE key = 'search_upto';
   CREATE TRIGGER search_queue_add AFTER INSERT ON messages
     BEGIN INSERT INTO search_queue (message) VALUES (new.id); END;
   CREATE TRIGGER search_queue_drop AFTER DELETE ON messages
     BEGIN DELETE FROM search_queue WHERE message = old.id; END;
   ALTER TABLE chats ADD COLUMN indexed_id INTEGER NOT NULL DEFAULT 0;`,
  `CREATE INDEX channel_inbox_queued ON channel_inbox (agent_id, channel, account)
     WHERE state IN ('waiting', 'command', 'turn');`,
  `CREATE TABLE jobs (
     kind TEXT NOT NULL, key TEXT NOT NULL, owner TEXT NOT NULL, state TEXT NOT NULL,
     fence INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, planned_at INTEGER NOT NULL,
     next_at INTEGER NOT NULL, holder TEXT, lease_ms INTEGER, payload TEXT, note TEXT,
     PRIMARY KEY (kind, key), CONSTRAINT job_taken_away CHECK (state <> 'taken away')) WITHOUT ROWID;
   CREATE INDEX jobs_next ON jobs (next_at) WHERE state = 'waiting';`,
  `CREATE TABLE events (
     id INTEGER PRIMARY KEY, seq INTEGER UNIQUE, type TEXT NOT NULL, agent_id TEXT, at INTEGER NOT NULL,
     data TEXT NOT NULL, message INTEGER);
   CREATE TABLE event_numbers (last INTEGER NOT NULL, removed INTEGER NOT NULL);
   INSERT INTO event_numbers (last, removed) VALUES (0, 0);`,
  `CREATE TABLE usage (
     id INTEGER PRIMARY KEY, request_id TEXT NOT NULL, at INTEGER NOT NULL, pending INTEGER,
     day TEXT NOT NULL, agent_id TEXT NOT NULL, key_id TEXT NOT NULL, model TEXT NOT NULL, source TEXT NOT NULL,
     session TEXT NOT NULL, turns INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
     cache_read_tokens INTEGER NOT NULL, cache_write_tokens INTEGER NOT NULL, cost INTEGER NOT NULL,
     estimated INTEGER NOT NULL, unpriced INTEGER NOT NULL);
   CREATE INDEX usage_pending ON usage (pending, id) WHERE pending IS NOT NULL;
   CREATE INDEX usage_at ON usage (at);
   CREATE TABLE usage_days (
     day TEXT NOT NULL, agent_id TEXT NOT NULL, key_id TEXT NOT NULL, model TEXT NOT NULL, source TEXT NOT NULL,
     session TEXT NOT NULL, turns INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
     cache_read_tokens INTEGER NOT NULL, cache_write_tokens INTEGER NOT NULL, cost INTEGER NOT NULL,
     estimated INTEGER NOT NULL, unpriced INTEGER NOT NULL,
     PRIMARY KEY (day, agent_id, key_id, model, source, session)) WITHOUT ROWID;
   CREATE INDEX usage_days_agent ON usage_days (agent_id);
   ALTER TABLE turns ADD COLUMN key_id TEXT;
   ALTER TABLE turns ADD COLUMN told_chars INTEGER;`,
  `CREATE TABLE id_blocks (name TEXT PRIMARY KEY, reserved INTEGER NOT NULL) WITHOUT ROWID;
   INSERT INTO id_blocks (name, reserved) VALUES ('message', 0);`,
  `CREATE TABLE crons (
     id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, spec TEXT NOT NULL,
     enabled INTEGER NOT NULL, created_by TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
     next_at INTEGER, planned_at INTEGER NOT NULL, last_tick INTEGER, last_run_at INTEGER, last_status TEXT,
     last_error TEXT, consecutive_errors INTEGER NOT NULL, run_count INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX crons_agent ON crons (agent_id, next_at);
   CREATE TABLE cron_runs (
     id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, agent_id TEXT NOT NULL, type TEXT NOT NULL,
     run_at INTEGER NOT NULL, tick INTEGER, cause TEXT NOT NULL, state TEXT NOT NULL, started_at INTEGER,
     duration_ms INTEGER, output TEXT, error TEXT, session TEXT, request_id TEXT, user_message INTEGER);
   CREATE INDEX cron_runs_job ON cron_runs (job, id);
   CREATE UNIQUE INDEX cron_runs_tick ON cron_runs (job, tick) WHERE tick IS NOT NULL;
   CREATE UNIQUE INDEX cron_runs_open ON cron_runs (job) WHERE state IN ('waiting', 'running');
   CREATE INDEX cron_runs_turn ON cron_runs (request_id) WHERE request_id IS NOT NULL;
   ALTER TABLE channel_outbox ADD COLUMN run INTEGER;
   CREATE INDEX channel_outbox_run ON channel_outbox (run) WHERE run IS NOT NULL;
   ALTER TABLE channel_inbox ADD COLUMN group_id TEXT;`,
];

/** Steps after which a gateway that does not know them would do harm. */
export const BREAKING: readonly number[] = [8];

/** What a downgrade does beyond taking away tables, columns, indexes and triggers, by step. */
export const UNDO: Readonly<Record<number, string>> = {
  // Search starts over: without a known version of Unicode its index is cleared.
  8: `INSERT INTO meta (key, value) VALUES ('search_upto', '0') ON CONFLICT (key) DO NOTHING;
      DELETE FROM meta WHERE key = 'search_unicode';`,
};
