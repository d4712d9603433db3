/** Rules of `contract-store.md` about search, import, export and removal. */
export const storeMoving: Readonly<Record<string, string>> = {
  "STORE-SAME-1":
    "search finds the same messages in the same order with the same totals with every driver, as do import, export and removal",
  "STORE-CANCEL-1": "a search whose client has left is cancelled in Postgres",
  "STORE-COPY-1":
    "`store copy` takes every table of a stopped gateway to another driver, either way, with a count and a checksum for each; the gateway goes on there, and no id is given twice",
  "STORE-COPY-2":
    "a copy that was killed goes on where it was; until it has ended, no gateway starts on its target",
  "STORE-COPY-3": "of two copies into one target at the same time, one goes on and the other says so",
  "STORE-BACKUP-1":
    "`backup create` with Postgres holds the home directory and the rows, while gateways use them, and is restored to SQLite, to Postgres and over its own schema, as is a backup of SQLite; nothing is replaced without --force, nor while a gateway uses it",
  "STORE-BACKUP-2": "a backup holds the rows of Postgres as they were at one moment",
  "STORE-BACKUP-3":
    "a restore to Postgres takes effect as a whole or not at all; until it has ended, no gateway starts on the store (78)",
};
