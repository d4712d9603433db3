/** What the store and the rooms that only keep and read rows promise. */
export const rows = {
  "ROWS-1":
    "Repositories behave alike with every driver: what they find, in which order, and what a unit changes.",
  "SHARE-9": "A share that is revoked or expires while its file is being opened is not served.",
  "SEARCH-GONE-1":
    "A search whose client has left gives up its work, and does not start if it was still waiting.",
} as const;
