/** Rules of `contract-store.md` about how long things take. */
export const storeSpeed: Readonly<Record<string, string>> = {
  "STORE-PLANS-1":
    "where nobody stands between, Postgres keeps the plans of frequent statements; what they answer is the same, and losing them costs a connection, never an answer",
  "IMPORT-STEPS-1":
    "an import into a chat that exists, however many messages it has, does nothing in one statement that grows with them, holds up no turn of that chat, and is shown at once",
};
