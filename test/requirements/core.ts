/** Rules of `1-core.md`, `contract.md` 1, 3, 4, 5 and 11: starting, errors, turns, sessions. */
export const core = {
  "START-1": "`npm start` on a machine with Node.js 20 installs what is missing and starts the gateway",
  "START-2":
    "`npx agent-gateway <command>` works from the checkout; the bin file runs with Node.js >= 24 and finds the pinned one otherwise",
  "START-3":
    "GATEWAY_HOME, GATEWAY_CONFIG, PORT (0 picks a free one) and GATEWAY_BIND are obeyed, before the file",
  "START-4": "when it accepts requests it prints one line with `gateway listening on http://HOST:PORT`",
  "START-5":
    "SIGTERM and SIGINT stop it within 5 s: running turns interrupted, partial text stored, children ended, exit 0",
  "START-6":
    "first run writes a config with agent `assistant` (auto) and one admin key in .env mode 0600, and prints address, key once and a curl line that works",
  "START-7": "nothing outside GATEWAY_HOME and the workspaces is written",
  "START-11": "a start stores its compiled code in the home's cache, and the next start reads it",
  "START-8": "chat_id is 1-128 of A-Za-z0-9._@:+- and neither . nor ..; else 400 INVALID_CHAT_ID",
  "START-9":
    "agent ids match ^[a-z][a-z0-9_-]{0,31}$; session ids are lower-case UUIDs minted by the gateway",
  "START-10": "per-session files lie in agents/<agentId>/sessions/api-<chat_id>/<sessionId>/",
  "ERR-1": "every non-2xx JSON body has error, code, request_id; the x-request-id header is the same",
  "ERR-2": "validation failures carry details [{path, message}]",
  "ERR-3": "no stack, path of the machine, secret or HTML leaves",
  "ERR-4":
    "405 METHOD_NOT_ALLOWED with Allow; 404 NOT_FOUND for unknown routes; 400 INVALID_JSON; 413 PAYLOAD_TOO_LARGE over 1 MiB",
  "ERR-5":
    "order of checks: route, key present, key valid, agent, access and level, body and query, level of the body, session, busy",
  "MSG-1": "a message gets one JSON reply with request_id, agent_id, response, session_id, duration_ms",
  "MSG-2": "message is required, not empty, at most 10,000 characters (MESSAGE_TOO_LONG)",
  "MSG-3": "chat_id is required",
  "MSG-4": "without session_id a new session is made and its id returned; with one the session goes on",
  "MSG-5":
    "an unknown session_id is 404 SESSION_NOT_FOUND and never makes a session; also under another chat_id",
  "MSG-6": "stream: true answers SSE with text_delta, result and [DONE]",
  "MSG-7":
    "media_files: at most 10 uploads of this agent, else 400; images and PDFs reach the agent as content blocks",
  "MSG-8": "store_user_message: false stores only the reply and needs a write or admin key",
  "MSG-9":
    "image_params and video_params: empty strings ignored, non-object or n/duration below 1 is 400; the latest is kept as imageConfig/videoConfig and told to the agent",
  "MSG-10": "attachments are present only when the agent captured images, and their url can be fetched",
  "TURN-1":
    "a turn's request_id is also the x-request-id header; its events are numbered seq from 1 and every JSON frame carries seq and request_id",
  "TURN-2":
    "frames are `id: <seq>` and `data: <json>`; a `: keepalive` comment goes out on time; the stream always ends with [DONE], after error too",
  "TURN-3": "tool_use, tool_result, thinking and attachment events are sent",
  "TURN-4": "at most 2,000 events or 4 MiB are kept, the last frame whatever its size",
  "TURN-5":
    "sync soft timeout: 504 TIMEOUT with session_id and request_id; the session stays busy (409) until the turn ends, and is free at once then",
  "TURN-6":
    "stream soft timeout: a non-terminal timeout event {message, resumable: true}; the stream stays open",
  "TURN-7": "after the hard cap the turn is interrupted and an error TIMEOUT closes the stream",
  "TURN-8": "a second request on a busy session is 409 SESSION_BUSY, before any SSE byte",
  "TURN-9": "a client that goes away never stops the turn",
  "TURN-10": "a session with a turn in flight is never idle",
  "TURN-11":
    "GET stream replays what was kept, then follows live; several readers of one turn see the same frames",
  "TURN-12": "GET stream: nothing running and nothing kept is 410 TURN_GONE",
  "TURN-13":
    "GET stream: a cursor without request_id is 400; another turn 410 TURN_MISMATCH; older than kept 410 TURN_TRUNCATED; beyond the end 410 CURSOR_AHEAD",
  "TURN-14":
    "GET stream: exactly at the end is an empty stream and [DONE]; the request_id of an earlier kept turn reads that turn",
  "TURN-15": "GET stream takes Last-Event-ID like after_seq; only under the right chat_id",
  "TURN-16":
    "stop: the waiting sync caller gets 200 with the text so far and interrupted: true; a stream gets a result with interrupted: true; the stored message is flagged; the same process takes the next turn",
  "TURN-17": "stop with nothing running answers {stopped: false}",
  "TURN-18":
    "a process that dies in mid-turn: 500 AGENT_FAILED or an error event; the text so far is stored flagged",
  "TURN-19": "an agent error (is_error whatever the subtype) is AGENT_FAILED",
  "TURN-20": "replies of 32 MB in one line pass unharmed; output split anywhere, also inside characters",
  "TURN-21":
    "the user message is durable before the agent sees it, the assistant message before result is sent",
  "TURN-22":
    "after kill -9 at any step: no stored message lost or doubled, the running turn closed with its text, the session free at once",
  "TURN-23": "a stalled reader costs the others nothing and reads the whole text later",
  "TURN-24": "kept turns are gone after gateway.turns.retainMs",
  "CMD-1":
    "slash commands answer one JSON object with command, session_id, result, also with stream: true, and count nowhere as messages",
  "CMD-2": "/session, /clear, /compact, /stop, /restart, /model have their documented results",
  "CMD-3":
    "an unknown /word is 400 UNKNOWN_COMMAND listing the commands; path-like text and / before a non-letter are messages; commands are case-insensitive",
  "CMD-4":
    "without session_id a command acts on the chat's latest session; 404 SESSION_NOT_FOUND when there is none",
  "CMD-5": "commands work on a busy session except /clear and /compact (409)",
  "CMD-6": "/model changes that session's model only",
  "CMD-7": "GET /api/v1/commands lists the commands",
  "SES-1": "list: sessions of a chat with id, name, createdAt, lastActivity",
  "SES-2": "create: 201 {sessionId, sessionName, createdAt}; the name overrides the one made from the prompt",
  "SES-3": "info: all fields; 404 when not found",
  "SES-4": "rename: session_name wins over sessionName; the reply is camelCase",
  "SES-5": "delete: 204 without a body; the session is gone",
  "SES-6": "clear: {cleared: true, sessionId}; the history is gone and the agent has forgotten",
  "SES-7": "compact: {success, keptMessages, archivedMessages}; a short session keeps all; 409 when busy",
  "SES-8": "restart: {restarting: true}; the process is another and knows the history",
  "SES-9": "chat_id is required on all session endpoints, in the query or the body",
  "SES-10": "names are generated from the first prompt",
  "SES-11":
    "an idle session's process ends after idleTimeoutMinutes and the history is restored with the next message",
  "SES-12":
    "at most maxConcurrent live sessions per agent: the oldest idle one is evicted, a busy one never, else 503 CAPACITY with Retry-After",
  "SES-13": "history is re-injected up to maxHistoryMessages; 0 injects none and does not resume",
  "SES-14":
    "contextPercent comes from the runtime, 0 when unknown; model of the session record is the real model",
  "SES-15": "no child process is left after any exit of the gateway, also after kill -9",
  "SES-16":
    "a child sees the allow-listed environment and the agent's env, no key of the gateway; cwd is the workspace",
  "SES-17": "warm spares: a new session takes a process that is ready",
  "GREET-1":
    "the greeting file is sent as a hidden prompt; only the reply is stored; the file is deleted before streaming",
  "GREET-2": "no or empty file is 204; repeated calls are 204; a new file greets again",
  "GREET-3": "404 SESSION_NOT_FOUND and 409 leave the file; write or admin key needed",
  "INJ-1":
    "injection streams text_delta, result, [DONE] into any stored chat id; content is required, at most 10,000 characters",
  "INJ-2":
    "on expiry of the budget the stream closes with error TIMEOUT_SOFT; the reply still lands in history",
  "INJ-3": "senderName is stored on the record and shown to the agent",
  "LIM-1": "rate limit per key: 429 RATE_LIMITED with Retry-After; false turns it off",
  "LIM-2": "failed authentications: 20 a minute per address, then 429",
} as const;
