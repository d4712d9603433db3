/** Rules of `contract-store.md`, section 2, for sessions, messages and turns. */
export const sessionRows = {
  "MSGID-2": "search finds every message, in whatever order their ids were stored",
};
