/** Rules of contract 10 for what became of an attempt at sending. */
export const channelsOutcome: Record<string, string> = {
  "CH-OUTCOME-1":
    "an attempt without a complete answer is repeated only when the request surely never left; else it is unknown",
  "CH-OUTCOME-2": "429 and 5xx that were answered in full are tried again, Retry-After obeyed",
};
