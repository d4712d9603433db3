import type { Clock } from "../../lib/clock.ts";
import type { Sendable, SendOutcome } from "../types.ts";
import { type Answer, type Asked, exchange as ask, deadline } from "./exchange.ts";

/** Time limit of a send attempt, so that it ends within the 60 s that an adapter has. */
export const SEND_TIMEOUT_MS = 55_000;
/** A longer wait is cut short: the next attempt asks the provider again. */
const MAX_WAIT_MS = 3_600_000;

/** Codes of Node.js, undici and OpenSSL for connections that never reached the request: no address, no peer, no TLS. */
const BEFORE_THE_REQUEST = [
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL)$/,
  /^(?:UND_ERR_CONNECT_TIMEOUT|EPROTO|ERR_TLS_CERT_\w+|ERR_TLS_HANDSHAKE_TIMEOUT)$/,
  /^ERR_SSL_(?:WRONG_VERSION_NUMBER|UNSUPPORTED_PROTOCOL|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|NO_\w+|\w*HANDSHAKE_FAILURE|\w*PROTOCOL_VERSION|\w*UNRECOGNIZED_NAME)$/,
  /^(?:CERT_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|HOSTNAME_MISMATCH)$/,
];
/** Node's message for a peer that hung up during the handshake; its code is the same as for any reset connection. */
const IN_THE_HANDSHAKE = /before secure TLS connection was established/;
/** Libraries bury the system's error some levels deep. */
const MAX_DEPTH = 6;

interface Failure {
  code?: unknown;
  message?: unknown;
  syscall?: unknown;
  cause?: unknown;
  /** One for each address of the host that was tried. */
  errors?: unknown;
}

/** The innermost errors: one, or one for each address that was tried. */
function roots(error: unknown, depth = 0): Failure[] {
  if (typeof error !== "object" || error === null) return [];
  const failure: Failure = error;
  if (depth < MAX_DEPTH) {
    if (Array.isArray(failure.errors) && failure.errors.length > 0) {
      return failure.errors.flatMap((one) => roots(one, depth + 1));
    }
    if (typeof failure.cause === "object" && failure.cause !== null) return roots(failure.cause, depth + 1);
  }
  return [failure];
}

function beforeTheRequest({ code, message, syscall }: Failure): boolean {
  if (syscall === "connect" || syscall === "getaddrinfo") return true;
  if (typeof code === "string" && BEFORE_THE_REQUEST.some((pattern) => pattern.test(code))) return true;
  return typeof message === "string" && IN_THE_HANDSHAKE.test(message);
}

/** True when an error says that the request was never written. */
export function neverSent(error: unknown): boolean {
  const found = roots(error);
  return found.length > 0 && found.every(beforeTheRequest);
}

/** The system's or the library's innermost error code: `ECONNREFUSED`. */
export function codeOf(error: unknown): string | undefined {
  const found = roots(error).find(
    ({ code }) => typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code),
  );
  return found?.code as string | undefined;
}

/** Why a provider could not be reached, as a sentence without addresses or secrets. */
export function unreachable(error: unknown, provider: string): string {
  const code = codeOf(error);
  return `${provider} cannot be reached${code === undefined ? "" : ` (${code})`}.`;
}

/** Outcome of an attempt that got no complete answer: `retry` if it was certainly not written, else `unknown`. */
export function outcomeOfThrown(error: unknown): SendOutcome {
  const code = codeOf(error);
  const suffix = code === undefined ? "" : ` (${code})`;
  return neverSent(error)
    ? { status: "retry", reason: `The provider could not be reached${suffix}.` }
    : { status: "unknown", reason: `The connection was lost before the provider answered${suffix}.` };
}

/** Milliseconds of a `Retry-After` header: seconds, or a date. Undefined if missing or meaningless. */
export function retryAfterMs(value: string | null | undefined, now: number): number | undefined {
  if (value === null || value === undefined || value === "") return undefined;
  const ms = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), MAX_WAIT_MS) : undefined;
}

/**
 * What a complete answer other than success means: 408, 429 and 5xx are retried, everything else is a refusal.
 * @param reason user-facing message, without secrets
 */
export function outcomeOfStatus(status: number, reason: string, afterMs?: number): SendOutcome {
  if (status !== 408 && status !== 429 && status < 500) return { status: "failed", reason };
  return { status: "retry", reason, ...(afterMs !== undefined && { afterMs }) };
}

/** True for a message that changes the text of another: to set the same text once more changes nothing. */
export const changesText = ({ replaces, content }: Sendable): boolean =>
  replaces !== undefined && content.kind === "text";

export type HttpAnswer = Answer;

/** One exchange with its complete answer and a time limit. Rejects as `fetch` does; see {@link outcomeOfThrown}. */
export async function exchange(
  url: string,
  init: Asked,
  { signal, clock, timeoutMs = SEND_TIMEOUT_MS }: { signal: AbortSignal; clock: Clock; timeoutMs?: number },
): Promise<HttpAnswer> {
  const late = deadline(clock, timeoutMs, signal);
  try {
    return await ask(url, { ...init, signal: late.signal });
  } finally {
    late.end();
  }
}
