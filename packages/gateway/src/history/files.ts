import type { HistoryFiles } from "../store/index.ts";
import { formatExport } from "./format.ts";
import { readCheckedImport } from "./lines.ts";

/** How the files of imports and exports are read and written. */
export const historyFiles: HistoryFiles = {
  // The check brings the validation library, so it is loaded by the first one.
  check: async (context, args) => (await import("./import-check.ts")).checkImport(context, args),
  read: readCheckedImport,
  format: formatExport,
};
