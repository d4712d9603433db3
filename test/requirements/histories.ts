/** Turns whose caller tells the conversation so far. */
export const histories = {
  "HIST-1":
    "an agent whose caller tells the history gets that and nothing of the session's own, in a process that no other turn uses",
  "HIST-2":
    "a new session keeps the history that its first turn was told as its beginning, in the unit that begins the turn, and goes on in the same process",
  "HIST-3": "the turn after one with a foreign history is told the session's own messages again",
} as const;
