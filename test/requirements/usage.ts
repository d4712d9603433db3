/** What turns use, and what that costs. */
export const usage = {
  "USE-1":
    "a turn of the agent CLI used what the program's sums grew by, model by model; they begin anew with a new or killed process and go on where a session is resumed",
  "USE-2":
    "a turn over ACP used the tokens of its answer, and what the session's cost in US dollars grew by; both may be missing",
  "USE-3": "a turn of the builtin runtime used what its model calls report, compactions included",
  "USE-4":
    "where no tokens are reported, 4 characters count as one, and that is said; the starter and a turn that never reached its agent count nothing",
  "USE-5":
    "each turn leaves its usage in the unit that ends it, whether it succeeds, fails, is stopped, compacts, or is cut off by a crash",
  "USE-6":
    "sums are the same whether rows are in the totals of their days, are not, or get there meanwhile; totals stay when the rows of 90 days ago go",
  "USE-7": "replies and `result` events say what the turn used",
  "USE-8":
    "GET /api/v1/usage sums up days in the configured time zone, both ends included, by any of six fields, today by default and 366 days at most",
  "USE-9":
    "below admin, a key sees what it caused itself; another's key, or an agent out of its reach, is 403, and an agent that never was is 404",
  "USE-10":
    "a configured price stands over a built-in one, the longest match wins; without one, what the runtime reports counts, else the cost is missing and that is said",
  "USE-11":
    "usage is counted for the key by its configured id, else the first 12 hex digits of its SHA-256; channels have none",
  "USE-12":
    "the Usage page shows sums and bars by day, which a keyboard can go through, at 320 pixels too, in light and dark colours",
};
