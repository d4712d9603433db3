import type { IdleTask, Job, JobContext } from "../db/index.ts";
import { exportSlice } from "./export-slice.ts";
import { checkImport } from "./import-check.ts";
import { storeImport } from "./import-store.ts";
import { type PageQuery, readPage } from "./paging.ts";
import type { Read } from "./records.ts";
import { emptySession, pruneTurns, removeOlder } from "./removal.ts";
import { type SearchQuery, search } from "./search.ts";
import { indexStep, prepareSearch } from "./search-index.ts";

/** Jobs of the writer thread, and what it does when nobody waits. */
export const writerJobs: Record<string, Job<never>> = { storeImport, emptySession, removeOlder, pruneTurns };
export const writerIdle: IdleTask = indexStep;
export const writerSetup = prepareSearch;

/** Jobs of the reader thread. */
export const readerJobs: Record<string, Job<never>> = {
  checkImport,
  exportSlice,
  page: ({ db, slice }: JobContext, query: PageQuery) => slice(() => readPage(db.all as Read, query)),
  search: ({ db, slice }: JobContext, query: SearchQuery) => slice(() => search(db, query)),
};
