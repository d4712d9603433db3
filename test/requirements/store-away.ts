/** What becomes of turns, and of messages that arrive, while the store cannot take anything. */
export const storeAway: Readonly<Record<string, string>> = {
  "AWAY-1":
    "a turn that runs while the store goes away goes on: its client gets the text with `stored: false`, and its end is stored once, in one unit, when the store is back",
  "AWAY-2":
    "the reply to a channel's message is sent once, after it was stored; while the store is away, webhooks get 503, polling confirms nothing, and nothing is lost or doubled",
  "AWAY-3":
    "a session whose reply waits for the store refuses messages with 503 `UNAVAILABLE` and `Retry-After`, and takes them as soon as the store is back",
  "AWAY-4": "what a stop finds unstored is named in the log, and the next start closes the turn once",
  "AWAY-5":
    "a reply is kept for ten minutes at most, and all of them together in 64 MiB; beyond that, or when the store refuses it, its turn is closed like one that a crash cut off, and its session is free",
  "AWAY-6":
    "a reply that had to wait is stored under the fence of its turn; when the agent was taken or the turn closed meanwhile, it is dropped",
  "AWAY-7":
    "text of a running turn that could not be stored is stored later, in order; the log tells it once, until it works again",
  "STORE-COMMIT-2":
    "whoever was refused while the outcome of a commit was unknown learns it when the store is back: what was stored all the same is taken up or closed, and waits for no restart",
  "DISK-1":
    "a full disk refuses what is new with 503 and `Retry-After` and lets reading go on; the reply of a running turn is kept and stored when there is room, by itself, with both drivers",
  "CLOCK-APART-1":
    "a gateway whose clock is an hour before or behind its store's serves, numbers events in order, and closes a cut-off turn once",
};
