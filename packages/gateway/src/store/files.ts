import type { FormatExport } from "./exports.ts";
import type { ReadImport } from "./imports.ts";

/** What the history knows about the files of imports and exports, for drivers without threads of their own. */
export interface HistoryFiles {
  /** Checks every line of an import; resolves to their number. */
  check(context: { signal: AbortSignal }, args: { file: string }): Promise<number>;
  read: ReadImport;
  format: FormatExport;
}
