/** What a message does while it cannot be handled. */
export const channelsWaiting: Record<string, string> = {
  "CH-WAIT-1":
    "While an agent has no place free, a channel's message waits: no file is fetched, no typing is shown, the gateway answers and stays idle.",
  "CH-WAIT-2": "When a place becomes free the message is answered; its files are fetched once.",
  "CH-WAIT-3": "SIGTERM ends a gateway with waiting messages within 5 s, and the next start answers them.",
  "CH-WAIT-4":
    "A message whose session is busy waits for that session, also when it is not the latest of its chat, and no wait becomes a loop.",
  "CH-WAIT-5":
    "While an access file cannot be read, messages are stored and wait; they are judged when it can be, or given up after a day.",
  "CH-WAIT-6": "Meanwhile the channel's `lastError` says so.",
  "CH-WAIT-7":
    "A file that is gone for a moment, as editors leave it while they save, judges nobody by the defaults.",
  "CH-WAIT-8": "A message that a crash put back is joined with no other: its turn runs again as it was.",
  "CH-WAIT-9":
    "Whatever the order in which files, providers, the disk and the agent answer, each message is answered once and in order.",
  "CH-CLOSE-1": "A connection that never closes holds up no other channel for longer than ten seconds.",
  "CH-LINEAR-1":
    "Reading a Slack message takes time in proportion to its length, also for 200 KB that are made to be slow.",
};
