/** Rules of `contract-store.md`: what holds whatever the driver is. */
export const store: Readonly<Record<string, string>> = {
  "STORE-UNITS-1":
    "a unit of changes takes effect as a whole or not at all, in the order in which units were asked for, and answers what each change did, whatever the driver",
  "STORE-BOTH-1":
    "the same routes, orders and totals with both drivers: messages, turns, sessions, history and a channel behave alike",
  "STORE-TEXT-1":
    "text is cleaned once, before either driver: U+0000 and lone surrogates become U+FFFD, in what is stored and in what is looked for",
  "STORE-COMMIT-1":
    "a unit whose commit has an unknown outcome is sent again under its id: it takes effect once, and its caller gets what the first attempt answered",
  "STORE-LOST-1":
    "A schema that is gone, or a role that has lost its rights, makes a store that is away: 503, `store.ok` false, one sentence in the log, and by itself again when they are back.",
  "STORE-AWAY-2":
    "while the store does not answer, `/health` stays 200, `GET /ready` (no key) is 503 and `/status` says `store.ok: false`; both come back with it, and the url's password shows nowhere",
  "STORE-AWAY-3":
    "a Postgres that cannot be reached at start is tried for 30 s, then the gateway exits with 69 and one sentence; one that refuses it, or is too old for it, is told at once",
  "STORE-POOLER-1":
    "a transaction pooler may stand between: no transaction relies on what an earlier one left in its connection",
  "STORE-NEIGHBOURS-1":
    "cancelling a read in Postgres touches nothing else, however late the server hears of it",
  "STORE-NEIGHBOURS-2":
    "of units that wait together, one for which the database has no room at the moment fails alone",
  "STORE-RIGHTS-1":
    "the role of a gateway needs no right on the database where its schema is there and is its own; a missing right ends the start with 78 and one sentence",
  "STORE-NUMBERS-1":
    "a number is whole and within 2^53 before either driver gets it; what has a fraction is rounded, but for the used share of a context, and the nearest number stands for one beyond",
  "STORE-AWAY-1":
    "while Postgres does not answer, what needs it is refused within 5 s with 503 `UNAVAILABLE` and `Retry-After`; the gateway reconnects by itself",
  "STORE-PG-1":
    "`store version`, `contract` and `downgrade` work on Postgres as on SQLite: with the same words and exit codes, the loss named, and never under a gateway that runs",
  "STORE-PG-2":
    "gateways that migrate a schema of Postgres at the same time follow one another; a step that was cut off leaves nothing, or an index that is built anew; what waits for a lock lets others by after 2 s",
  "STORE-PG-3":
    "`doctor` checks a store on Postgres: that it can be reached, version, encoding, `pg_trgm`, character classes, `fsync` and `full_page_writes`, schema and locks; it changes nothing and shows no password",
  "STORE-PG-4": "another Unicode version of the runtime has search on Postgres folded anew, as on SQLite",
};
