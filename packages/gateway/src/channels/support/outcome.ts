import type { Clock } from "../../lib/clock.ts";
import type { SendOutcome } from "../types.ts";
import { type Answer, exchange as ask, deadline } from "./exchange.ts";

/** An attempt at sending ends after this, so that it is over before the 60 s that an adapter has. */
export const SEND_TIMEOUT_MS = 55_000;
/** A longer wait is cut: the next attempt asks the provider again. */
const MAX_WAIT_MS = 3_600_000;

/** Codes of Node.js and undici for connections that never came to the request. */
const BEFORE_THE_REQUEST =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_.*|ERR_SSL_.*|CERT_.*|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_.*|HOSTNAME_MISMATCH|EPROTO)$/;
/** Node's message for a peer that hung up in the handshake; its code is that of any reset connection. */
const IN_THE_HANDSHAKE = /before secure TLS connection was established/;

interface Failure {
  code?: unknown;
  message?: unknown;
  cause?: unknown;
  errors?: unknown;
}

/** The error and what it wraps; libraries bury the system's code some levels deep. */
function* chain(error: unknown): Generator<Failure> {
  let next = error;
  for (let depth = 0; depth < 6 && typeof next === "object" && next !== null; depth++) {
    const failure = next as Failure;
    yield failure;
    next = failure.cause ?? (Array.isArray(failure.errors) ? failure.errors[0] : undefined);
  }
}

/** True when an error says that the request was never written. */
export function neverSent(error: unknown): boolean {
  for (const { code, message } of chain(error)) {
    if (typeof code === "string" && BEFORE_THE_REQUEST.test(code)) return true;
    if (typeof message === "string" && IN_THE_HANDSHAKE.test(message)) return true;
  }
  return false;
}

/** The system's or the library's code at the bottom of an error: `ECONNREFUSED`. */
export function codeOf(error: unknown): string | undefined {
  for (const { code } of chain(error)) {
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return code;
  }
  return undefined;
}

/** Why a provider could not be reached, as a sentence without addresses or secrets. */
export function unreachable(error: unknown, provider: string): string {
  const code = codeOf(error);
  return `${provider} cannot be reached${code === undefined ? "" : ` (${code})`}.`;
}

/** What became of an attempt that got no complete answer: `retry` when it was surely not written, else `unknown`. */
export function outcomeOfThrown(error: unknown): SendOutcome {
  const code = codeOf(error);
  const suffix = code === undefined ? "" : ` (${code})`;
  return neverSent(error)
    ? { status: "retry", reason: `The provider could not be reached${suffix}.` }
    : { status: "unknown", reason: `The connection ended before the provider had answered${suffix}.` };
}

/** Milliseconds of a `Retry-After` header: seconds, or a date. Undefined when there is none that makes sense. */
export function retryAfterMs(value: string | null | undefined, now: number): number | undefined {
  if (value === null || value === undefined || value === "") return undefined;
  const ms = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), MAX_WAIT_MS) : undefined;
}

/**
 * What a complete answer without success means: 408, 429 and 5xx are to be tried again, all else is a refusal.
 * @param reason sentence for the user, without secrets
 */
export function outcomeOfStatus(status: number, reason: string, afterMs?: number): SendOutcome {
  if (status !== 408 && status !== 429 && status < 500) return { status: "failed", reason };
  return { status: "retry", reason, ...(afterMs !== undefined && { afterMs }) };
}

export type HttpAnswer = Answer;

/** One exchange with its whole answer that ends by itself. Rejects as `fetch` does; see {@link outcomeOfThrown}. */
export async function exchange(
  url: string,
  init: RequestInit,
  { signal, clock, timeoutMs = SEND_TIMEOUT_MS }: { signal: AbortSignal; clock: Clock; timeoutMs?: number },
): Promise<HttpAnswer> {
  const late = deadline(clock, timeoutMs, signal);
  try {
    return await ask(url, { ...init, signal: late.signal });
  } finally {
    late.end();
  }
}
