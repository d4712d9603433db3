/** What turns use, and what that costs. */
export const usage = {
  "USE-1":
    "a turn of the agent CLI used what the program's sums grew by, model by model; they begin anew with a new or killed process and go on where a session is resumed",
  "USE-2":
    "a turn over ACP used the tokens of its answer, and what the session's cost in US dollars grew by; both may be missing",
  "USE-3": "a turn of the builtin runtime used what its model calls report, compactions included",
};
