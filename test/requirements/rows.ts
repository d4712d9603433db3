/** What the store and the rooms that only keep and read rows promise. */
export const rows = {
  "ROWS-1":
    "Repositories behave alike with every driver: what they find, in which order, and what a unit changes.",
  "SHARE-9": "A share that is revoked or expires while its file is being opened is not served.",
  "SEARCH-GONE-1":
    "A search whose client has left gives up its work, and does not start if it was still waiting.",
  "MIGRATE-1":
    "Before a migration changes a database, it is copied to gateway.db.before-<version>; when that fails, nothing is migrated and the start says so.",
  "MIGRATE-2": "The copy is kept until a day after the first start that succeeded.",
  "MIGRATE-3":
    "A gateway uses a database of a newer one as long as that allows it; otherwise it exits with 78 and says which version is needed.",
  "MIGRATE-4":
    "store downgrade takes the database back to an older schema, names what would be lost, and needs --discard for it.",
  "MIGRATE-5": "store contract leaves the database to gateways that know its schema.",
  "IMPORT-WHOLE-1":
    "An import shows nothing until all of it is stored, also when the gateway is killed meanwhile.",
  "IMPORT-SHARED-1": "An import goes on, and is shown whole, while another gateway starts on the same store.",
  "IMPORT-AWAY-1": "An import goes on when a connection breaks, whether it stores or looks something up.",
  "IMPORT-FAILED-1":
    "What an import that failed had stored goes, at the latest with the next start, and is never finished by it.",
  "IMPORT-SHARED-2":
    "An import into an agent that another gateway takes is refused with 503, and nothing of it stays.",
  "IMPORT-WHOLE-2": "An import that fails leaves nothing.",
  "IMPORT-WHOLE-3":
    "Until the imports that a crash cut off are finished, no other import into their agents begins, so none is stored twice.",
} as const;
