/** What a message does while it cannot be handled. */
export const channelsWaiting: Record<string, string> = {
  "CH-WAIT-1":
    "While an agent has no place free, a channel's message waits: no file is fetched, no typing is shown, the gateway answers and stays idle.",
  "CH-WAIT-2": "When a place becomes free the message is answered; its files are fetched once.",
  "CH-WAIT-3": "SIGTERM ends a gateway with waiting messages within 5 s, and the next start answers them.",
};
