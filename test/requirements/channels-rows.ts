/** What the store keeps of the messages of channels, with every driver. */
export const channelsRows: Record<string, string> = {
  "CH-INBOX-1":
    "An event of a provider is stored once for each account, and a message that is told as two events once for each chat.",
  "CH-INBOX-2": "The messages of a chat are given oldest first; a command waits for none of them.",
  "CH-INBOX-3":
    "A message is handed to the agent in the unit that begins its turn; that unit has no effect when it no longer waits.",
  "CH-INBOX-4": "A message is settled once, and its words go with that.",
  "CH-INBOX-5":
    "What no turn will answer is given up, of an agent or from before a time; what is settled is deleted after a time.",
  "CH-OUTBOX-1":
    "The messages to a chat are given oldest first; one that is being sent is given to nobody else.",
  "CH-OUTBOX-2": "The outcome of an attempt changes only a message that is still open, and is kept with it.",
  "CH-OUTBOX-3":
    "What was being sent at a crash is uncertain; a receipt settles what is uncertain in its place, and nothing else.",
  "CH-OUTBOX-4": "A message that may not have arrived can be sent again once, with its key.",
  "CH-OUTBOX-5":
    "What waits to be sent is given up, of an agent or from before a time; what is being sent is not.",
  "CH-OUTBOX-6":
    "The progress message of a turn, its reply and a handshake are found by what they belong to.",
};
