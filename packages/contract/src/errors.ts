/** HTTP status and meaning of every code that an error body can carry. */
export const ERROR_CODES = {
  INVALID_REQUEST: { status: 400, meaning: "A field or parameter is missing or wrong; see `details`." },
  INVALID_JSON: { status: 400, meaning: "The body is not valid JSON." },
  INVALID_CHAT_ID: { status: 400, meaning: "`chat_id` is not 1-128 characters of A-Za-z0-9._@:+-." },
  MESSAGE_TOO_LONG: { status: 400, meaning: "The message is longer than 10,000 characters." },
  UNKNOWN_COMMAND: { status: 400, meaning: "No slash command has this name." },
  API_KEY_MISSING: { status: 401, meaning: "The request has no API key." },
  API_KEY_INVALID: { status: 403, meaning: "The gateway does not know this API key." },
  FORBIDDEN: { status: 403, meaning: "The key has no access to this agent, or lacks the required level." },
  ARTIFACT_PATH_DENIED: {
    status: 403,
    meaning: "The path is outside the folders that the session may share.",
  },
  AGENT_NOT_FOUND: { status: 404, meaning: "No agent has this id." },
  SESSION_NOT_FOUND: { status: 404, meaning: "No session has this id under this chat." },
  NOT_FOUND: { status: 404, meaning: "There is nothing at this address." },
  METHOD_NOT_ALLOWED: { status: 405, meaning: "The address does not support this method; see `Allow`." },
  SESSION_BUSY: { status: 409, meaning: "A turn is running in this session." },
  CONFLICT: { status: 409, meaning: "The request conflicts with the current state." },
  TURN_GONE: { status: 410, meaning: "No turn is running and none is kept." },
  TURN_MISMATCH: { status: 410, meaning: "The cursor belongs to another turn." },
  TURN_TRUNCATED: { status: 410, meaning: "The events after this cursor are no longer kept." },
  CURSOR_AHEAD: { status: 410, meaning: "The cursor is beyond the newest event." },
  EVENTS_GONE: { status: 410, meaning: "Events after this cursor are no longer kept; see `oldest`." },
  PAYLOAD_TOO_LARGE: { status: 413, meaning: "The body is larger than allowed." },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, meaning: "This content type is not accepted here." },
  RATE_LIMITED: { status: 429, meaning: "Too many requests; wait `Retry-After` seconds." },
  AGENT_FAILED: { status: 500, meaning: "The agent process died or reported an error." },
  INSTALL_FAILED: { status: 500, meaning: "A package could not be installed; see `stderr`." },
  INTERNAL: { status: 500, meaning: "Internal error; look for the request id in the log." },
  UPSTREAM_UNAVAILABLE: { status: 502, meaning: "A service that the request needs did not answer." },
  CAPACITY: { status: 503, meaning: "All session places are busy." },
  UNAVAILABLE: { status: 503, meaning: "The gateway is not set up or not ready for this request." },
  QUOTA_EXCEEDED: { status: 507, meaning: "The agent's media folder is full (`gateway.media.quotaBytes`)." },
  TIMEOUT: { status: 504, meaning: "The agent did not answer in time." },
  TIMEOUT_SOFT: { status: 504, meaning: "The stream's time is up; the agent is still working." },
} as const satisfies Record<string, { status: number; meaning: string }>;

/** A stable error code. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** One failed rule of a validation: where, and what is wrong. */
export interface ErrorDetail {
  path: string;
  message: string;
}

/** Body of every non-2xx JSON reply. */
export interface ErrorBody {
  error: string;
  code: ErrorCode;
  request_id: string;
  details?: ErrorDetail[];
  [extra: string]: unknown;
}

/**
 * The one error type that reaches a user. `message` is one sentence without secrets, paths or stacks;
 * `extra` adds fields to the body, `headers` adds response headers.
 */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details?: ErrorDetail[];
  readonly extra?: Record<string, unknown>;
  readonly headers?: Record<string, string>;

  constructor(
    code: ErrorCode,
    message?: string,
    options: {
      status?: number;
      details?: ErrorDetail[];
      extra?: Record<string, unknown>;
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(message ?? ERROR_CODES[code].meaning, { cause: options.cause });
    this.name = "GatewayError";
    this.code = code;
    this.status = options.status ?? ERROR_CODES[code].status;
    if (options.details) this.details = options.details;
    if (options.extra) this.extra = options.extra;
    if (options.headers) this.headers = options.headers;
  }
}
