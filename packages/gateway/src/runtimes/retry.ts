import type { RuntimeEvent } from "./types.ts";

type Retry = Extract<RuntimeEvent, { type: "retry" }>;

/** The event for a failed attempt of a model call. `status` is the HTTP status; undefined where there was no answer. */
export function retryEvent({
  attempt,
  of,
  status,
}: {
  attempt: number;
  of: number;
  status?: number | undefined;
}): Retry {
  const message =
    status === undefined ? "The model API cannot be reached." : `The model API ${meaningOf(status)}.`;
  return {
    type: "retry",
    attempt,
    of: Math.max(of, attempt),
    ...(status !== undefined && { status }),
    message,
  };
}

/** What an error status of a model API means, as the end of a sentence about it. */
function meaningOf(status: number): string {
  switch (status) {
    case 401:
    case 403:
      return `refused the key (${status})`;
    case 402:
      return "says that the account has no credit left (402)";
    case 404:
      return "does not know the model (404)";
    case 408:
      return "took too long to answer (408)";
    case 429:
      return "limits the rate of requests (429)";
    case 503:
    case 529:
      return `is overloaded (${status})`;
    default:
      return `answered with an error (${status})`;
  }
}
