/** Rules of `contract-store.md` about search, import, export and removal. */
export const storeMoving: Readonly<Record<string, string>> = {
  "STORE-SAME-1":
    "search finds the same messages in the same order with the same totals with every driver, as do import, export and removal",
  "STORE-CANCEL-1": "a search whose client has left is cancelled in Postgres",
};
