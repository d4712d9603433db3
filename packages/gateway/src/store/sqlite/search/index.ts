import type { Search, SearchQuery, SearchResult } from "../../search.ts";
import type { Database } from "../database.ts";
import type { JobContext } from "../protocol.ts";
import { type Abandoned, search } from "./find.ts";

export { indexStep, unindexStatements } from "./indexing.ts";

interface SearchArgs {
  query: SearchQuery;
  abandoned: Abandoned;
}

/** Job of the reader. */
export const searchJob = ({ db, slice }: JobContext, { query, abandoned }: SearchArgs) =>
  slice(() => search(db, query, abandoned));

/** Search by the FTS5 indexes, in the reader thread. */
export function createSearch(db: Database): Search {
  return {
    // A trigger queues it.
    entry: () => [],
    async find(query, signal) {
      signal.throwIfAborted();
      // A message would reach the thread only after the search: it works without a pause.
      const abandoned: Abandoned = new Int32Array(new SharedArrayBuffer(4));
      const abandon = () => void Atomics.store(abandoned, 0, 1);
      signal.addEventListener("abort", abandon);
      try {
        const found = await db.readerJob<SearchResult>("search", { query, abandoned } satisfies SearchArgs);
        signal.throwIfAborted();
        return found;
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener("abort", abandon);
      }
    },
  };
}
