/** Rules of `contract-store.md`, section 2, for sessions, messages and turns. */
export const sessionRows = {
  "MSGID-1":
    "a message's id is known before it is stored, rises with time, costs no unit of its own, and is never given again after a crash",
  "MSGID-2": "search finds every message, in whatever order their ids were stored",
  "ROWS-2":
    "sessions, messages and turns: found by what names them, counted, told as they were said; a change says that its session is gone",
  "LOOK-1":
    "what was read of a session before something else could change it is never acted on: clearing, compacting, restarting, renaming and sending look again",
};
