import type { RuntimeEvent } from "./types.ts";

/** Default number of retries of a failed model call. */
export const DEFAULT_MAX_RETRIES = 3;

/** Limits the retries of programs that are built on Claude Code; others ignore the variable. */
export function retryEnvironment(
  hostEnv: Readonly<Record<string, string | undefined>>,
  maxRetries: number | undefined,
): Record<string, string> {
  const name = "CLAUDE_CODE_MAX_RETRIES";
  return {
    [name]: maxRetries === undefined ? (hostEnv[name] ?? String(DEFAULT_MAX_RETRIES)) : String(maxRetries),
  };
}

/** What a model provider's error status means, and what helps; undefined for one that says little by itself. */
function meaningOf(status: number): { cause: string; remedy: string } | undefined {
  switch (status) {
    case 401:
    case 403:
      return { cause: `refused the key (${status})`, remedy: "check the agent's key or log in again" };
    case 402:
      return {
        cause: "says that the account has no credit left (402)",
        remedy: "add credit or use another key",
      };
    case 404:
      return { cause: "does not have the model (404)", remedy: "check the agent's model" };
    case 408:
      return { cause: "took too long to answer (408)", remedy: "try again in a moment" };
    case 429:
      return { cause: "limits the rate of requests (429)", remedy: "try again in a while" };
    case 503:
    case 529:
      return { cause: `is overloaded (${status})`, remedy: "try again in a moment" };
    default:
      if (status < 500 || status > 599) return undefined;
      return { cause: `failed (${status})`, remedy: "try again in a moment" };
  }
}

/** User-facing message for a model call that finally failed; undefined if the status says little. */
export function upstreamFailure(status: number | undefined): string | undefined {
  const meaning = status === undefined ? undefined : meaningOf(status);
  return meaning && `The model provider ${meaning.cause}; ${meaning.remedy}.`;
}

/** The event for a failed attempt of a model call. Without `status` there was no answer at all. */
export function retryEvent({
  attempt,
  of,
  status,
}: {
  attempt: number;
  of: number;
  status?: number | undefined;
}): Extract<RuntimeEvent, { type: "retry" }> {
  const cause =
    status === undefined
      ? "could not be reached"
      : (meaningOf(status)?.cause ?? `answered with an error (${status})`);
  return {
    type: "retry",
    attempt,
    of: Math.max(of, attempt),
    ...(status !== undefined && { status }),
    message: `The model provider ${cause}.`,
  };
}

/** Where errors carry the status of the provider's answer: `API Error: 429 …`, `"code": 429`, `status 429`. */
const STATUS_IN_TEXT = /\b(?:api error|http|status|status code|code)["']?\s{0,4}[:=]?\s{0,4}([45]\d\d)\b/i;
const LOOKED_AT_CHARS = 2000;

/** How Node.js and HTTP libraries say that there was no answer at all. */
const UNREACHABLE =
  /\b(?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|fetch failed|connection error|connection refused)\b/i;

/** User-facing message for what an agent program says of a model call that failed; undefined if it says something else. */
export function failureIn(said: string, status = statusIn(said)): string | undefined {
  const meant = upstreamFailure(status);
  if (meant !== undefined || !UNREACHABLE.test(said.slice(0, LOOKED_AT_CHARS))) return meant;
  return "The model provider could not be reached; check its address and the network.";
}

/** HTTP status in an agent program's error text. */
function statusIn(said: string): number | undefined {
  const [, status] = STATUS_IN_TEXT.exec(said.slice(0, LOOKED_AT_CHARS)) ?? [];
  return status === undefined ? undefined : Number(status);
}
