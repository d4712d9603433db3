import type { Job, JobContext } from "../store/sqlite/index.ts";
import { exportSlice } from "./export-slice.ts";
import { type PageQuery, readPage } from "./paging.ts";
import type { Read } from "./records.ts";
import { type SearchQuery, search } from "./search.ts";

/** The check of an import brings the validation library, so it is loaded by the first one. */
const checkImport: Job<never> = async (context, args) => {
  const { checkImport: check } = await import("./import-check.ts");
  return check(context, args);
};

/** Jobs of the reader thread. */
export const readerJobs: Record<string, Job<never>> = {
  checkImport,
  exportSlice,
  page: ({ db, slice }: JobContext, query: PageQuery) => slice(() => readPage(db.all as Read, query)),
  search: ({ db, slice }: JobContext, query: SearchQuery) => slice(() => search(db, query)),
};
