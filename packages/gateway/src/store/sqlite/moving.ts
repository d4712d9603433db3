import { change } from "../change.ts";
import type { Exports } from "../exports.ts";
import type { ImportState, Imports } from "../imports.ts";
import type { Removal } from "../removal.ts";
import type { Database } from "./database.ts";
import type { ExportArgs } from "./jobs/index.ts";
import { clearStatements } from "./jobs/index.ts";

export const createRemoval = (db: Database): Removal => ({
  clear: (session) => change(...clearStatements(session)),
  emptySession: (_agentId, session) => db.writerJob("emptySession", { session }),
  olderThan: (agentId, before, signal) => db.writerJob("removeOlder", { agentId, before }, { signal }),
  // The writer prunes those of all agents at once.
  turnsBefore: (_agentId, before, signal) => db.writerJob("pruneTurns", { before }, { signal }),
});

export const createExports = (db: Database): Exports => ({
  slice: (agentId, chatId, cursor) =>
    db.readerJob("exportSlice", { agentId, chatId, cursor } satisfies ExportArgs),
});

/** @param range reserves ids of messages in a row; resolves to the first */
export const createImports = (db: Database, range: (count: number) => Promise<number>): Imports => ({
  check: (file, signal) => db.readerJob("checkImport", { file }, { signal }),
  async store(file, state, lines) {
    const ids = { first: await range(lines), count: lines };
    return db.writerJob("storeImport", { file, state, ids });
  },
  async unfinished() {
    const rows = db.all<{ value: string }>(
      "SELECT value FROM meta WHERE key >= 'import:' AND key < 'import;'",
    );
    return rows.map(({ value }) => JSON.parse(value) as ImportState);
  },
});
