/** Persons at the terminal of a session's program. */
export const screens = {
  "SCREEN-1":
    "a viewer is shown the whole screen of a session's program first and what follows as it comes, and what it types reaches the program",
  "SCREEN-2":
    "nothing is kept for a viewer that is behind: it misses what is written, and goes on with the screen as it is then",
  "SCREEN-3": "keys keep a session's process from being ended as idle",
  "SCREEN-4": "viewers are told when the program ends; a session without a terminal has nothing to attach to",
} as const;
