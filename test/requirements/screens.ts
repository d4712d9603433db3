/** Persons at the terminal of a session's program. */
export const screens = {
  "SCREEN-1":
    "who looks at a terminal is shown the whole screen of a session's program first and what follows as it comes, and what they type reaches the program",
  "SCREEN-2":
    "the program of a session that would run in a terminal is started for who wants its terminal; other sessions start nothing",
  "SCREEN-3": "keys keep a session's process from being ended as idle",
  "SCREEN-4":
    "who looks at a terminal learns when the program ends; a session without a terminal has none to look at",
} as const;
