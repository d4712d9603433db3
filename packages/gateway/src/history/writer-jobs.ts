import type { IdleTask, Job } from "../store/sqlite/index.ts";
import { storeImport } from "./import-store.ts";
import { emptySession, pruneTurns, removeOlder } from "./removal.ts";
import { indexStep, prepareSearch } from "./search-index.ts";

/** Jobs of the writer thread, and its work when idle. */
export const writerJobs: Record<string, Job<never>> = { storeImport, emptySession, removeOlder, pruneTurns };
export const writerIdle: IdleTask = indexStep;
export const writerSetup = prepareSearch;
