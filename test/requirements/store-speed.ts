/** Rules of `contract-store.md` about how long things take. */
export const storeSpeed: Readonly<Record<string, string>> = {
  "STORE-PLANS-1":
    "where nobody stands between, Postgres keeps the plans of frequent statements; what they answer is the same, and losing them costs a connection, never an answer",
};
