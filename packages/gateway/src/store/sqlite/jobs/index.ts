import type { FormatExport } from "../../exports.ts";
import type { ReadImport } from "../../imports.ts";
import type { Job } from "../protocol.ts";
import { searchJob } from "../search/index.ts";
import { exportSlice } from "./export.ts";
import { storeImport } from "./import.ts";
import { emptySession, pruneTurns, removeOlder } from "./removal.ts";

export type { ExportArgs } from "./export.ts";
export { clearStatements } from "./removal.ts";

/** Jobs of the writer thread. */
export const writerJobs = (read: ReadImport): Record<string, Job<never>> => ({
  storeImport: storeImport(read),
  emptySession,
  removeOlder,
  pruneTurns,
});

/** Jobs of the reader thread; `checkImport` rejects with what is wrong about a file. */
export const readerJobs = (room: {
  format: FormatExport;
  checkImport: Job<{ file: string }, number>;
}): Record<string, Job<never>> => ({
  checkImport: room.checkImport,
  exportSlice: exportSlice(room.format),
  search: searchJob,
});
