/** Rules of `1-core.md` and `contract.md` 2, 6, 7, 8, 10a, 12: history, media, models, configuration, monitoring, client. */
export const rooms = {
  "HIST-1": "all sessions of all agents for an admin: every field of the record; 403 for others",
  "HIST-2": "chats and chat sessions with ISO 8601 times and counts",
  "HIST-3": "messages: limit default 50, max 1000 clamped, nonsense falls back to 50",
  "HIST-4":
    "messages: before/after/_id bounds; _id halves ignored without their timestamp; non-numeric is 400",
  "HIST-5": "messages: order is case-insensitive, default desc; another value is 400",
  "HIST-6":
    "paging by the composite cursor shows each row exactly once, also rows that share a ts; nextCursorId is null when nextCursor is",
  "HIST-7":
    "search finds substrings in English, Thai, Japanese and Chinese, also of one and two characters, case-insensitively, operators as plain text, with exact total",
  "HIST-8": "search: q required and not empty; limit default 20 max 100; offset",
  "HIST-9":
    "active days: local buckets, raw window, empty or inverted window is empty, over 366 days or non-numeric is 400",
  "HIST-10":
    "retention deletes older messages at the cleanup hour in its time zone, with media no message refers to",
  "HIST-11": "export is NDJSON, oldest first, of an agent or one chat",
  "HIST-12":
    "import adds lines, skips those present, and can be repeated; a bad line is 400 naming the line and nothing stays",
  "HIST-13": "what was imported can be paged and searched",
  "HIST-14": "a clean-up keeps each file that a message or a session's settings name when its turn comes",
  "MEDIA-1": "upload: raw body, mediaPath; the extension of X-Filename is kept",
  "MEDIA-2":
    "upload errors: 400 no body, 413 over the limit, 415 unsupported or content that is something else",
  "MEDIA-3": "serving: type by content, nosniff, attachment for what a browser could execute, byte ranges",
  "MEDIA-4": "serving: traversal is 400, missing is 404, links that escape are not followed",
  "MEDIA-5": "share_file stores an image as an attachment; a path outside the scope is ARTIFACT_PATH_DENIED",
  "MODEL-1":
    "the catalogue is fetched live from <base>/v1/models, cached 60 s and shared by concurrent callers",
  "MODEL-2":
    "gateway.models is the fallback; the token never goes out in cleartext; a stale catalogue is served for an hour",
  "MODEL-3":
    "rows: alias, contextWindow, multiplier from the configured entry, else id and 200000; non-chat kinds dropped",
  "MODEL-4": "the catalogue replaces the list; a configured model it omits stays addressable",
  "MODEL-5": "the bare family alias points at the newest of the family",
  "MODEL-6": "PUT model persists to config.json; unknown is 400; admin only",
  "AGENT-1": "list and get: only agents within reach, all fields, no secret",
  "AGENT-2": "create 201, 409 exists, invalid 400; it can be talked to at once",
  "AGENT-3": "patch merges; the rest stays; unknown fields are 400",
  "AGENT-4": "delete leaves workspace and history on disk",
  "SHARE-1":
    "mint 201 with token, url when publicUrl is set, ttl bounds; revoke; only the token's hash is stored",
  "SHARE-2": "GET /shared/:token serves the file, else one uniform 404",
  "SHARE-3": "paths outside workspace, session and media are 403 ARTIFACT_PATH_DENIED",
  "MON-1": "/health is public and says only ok",
  "MON-2": "/status, /processes, /metrics: admin key or dashboard session; lesser keys 401",
  "MON-3": "no keys: open on loopback, 503 elsewhere with a warning at start",
  "MON-4": "/status, /processes and /metrics have their fields; no argv",
  "META-1":
    "every declared route is served, every served route declared; /api/v1/_meta/routes lists them with auth",
  "META-2": "OpenAPI 3.1 is valid and a generated client type-checks and works",
  "AUTH-1": "X-Api-Key or Authorization: Bearer; every route with every kind of key answers as declared",
  "AUTH-2": "keyHash keys work; keys are compared as hashes",
  "AUTH-3": "admin implies write; all agents is no level",
  "AUTH-4": "dashboard login sets an HttpOnly SameSite=Strict cookie for admin keys only",
  "AUTH-5": "foreign Host or Origin is 403, on loopback too",
  "DASH-1":
    "the page logs in, chats with streaming, shows sessions, searches, uploads an image and stops a turn, under a strict CSP",
  "CONF-1":
    "${VAR} in every string: environment, then the agent's .env, then the home's .env; the shell wins",
  "CONF-2":
    "an invalid agent or one with an unresolvable ${VAR} is skipped, the others start, the name is logged",
  "CONF-3": "unknown keys are warnings and are kept by writes",
  "CONF-4": "a broken file falls back to the last good one with a warning, or exits 78",
  "CONF-5":
    "a broken reload keeps the running config; a good one applies without a restart (keys, agents, logs, history, models, sessions)",
  "CONF-6": "older configVersions are migrated with a backup; bind is pinned for < 1.0.13",
  "CONF-7": "writes are atomic and keep unknown keys and order",
  "CONF-8": "time zones: per feature, then gateway.timezone, then UTC",
  "CONF-9": "logs: level, rotation, generations and retention",
  "CONF-10": "a non-loopback bind with world-readable secrets does not start and says the fix",
  "CONF-HEADLESS-1":
    "orchestration that is turned on, by whatever way, sets and saves `headless`; turning it off does not reset it",
  "RUN-1": "runtime auto picks CLI, key, loopback server, starter, in this order, and says which",
  "RUN-2": "starter works with every command, session and media feature and says that no model is connected",
  "RUN-3": "a dumb agent program that ignores control requests works, without delay",
  "RUN-4":
    "the real agent CLI: stream, tool with permission, image, stop, model switch, compact, resume, context, share_file",
  "RUN-5": "a real ACP agent: stream, tool with permission, image, cancel, resume",
  "RUN-6": "builtin: Anthropic and OpenAI sides, tools, MCP, compaction, context",
  "CLI-1": "every noun and verb of the declarations works; --json prints one JSON value and nothing else",
  "CLI-2":
    "exit codes 0, 1 with the message on stderr, 2 for wrong usage; --url, --key, --data, GATEWAY_URL, GATEWAY_API_KEY",
  "CLI-3": "`api METHOD path` calls any route",
  "CLI-4": "config check and doctor report problems",
  "CLI-5": "backup create, verify, restore: one consistent archive while the gateway runs",
  "FUZZ-1": "20,000 seeded bad requests over all routes: no 5xx, no hang, no leak",
} as const;
