import { cleanMessage } from "../../clean.ts";
import { IMPORT_FAILED, type ImportResult, type ImportState, type ReadImport } from "../../imports.ts";
import type { Connection } from "../connection.ts";
import { type JobContext, JobError } from "../protocol.ts";
import { indexStep } from "../search/index.ts";
import { removeStaged, showStaged } from "./import-staged.ts";
import { createImportTarget } from "./import-target.ts";

const SLICE_MS = 12;
const SLICE_ROWS = 1000;
const metaKey = (name: string) => `import:${name}`;

function keep(db: Connection, state: ImportState): void {
  db.run(
    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    [metaKey(state.name), JSON.stringify(state)],
  );
}
const forget = (db: Connection, name: string) => db.run("DELETE FROM meta WHERE key = ?", [metaKey(name)]);

/**
 * Job of the writer: stores the messages of a checked file and indexes them, in slices. How far it came is part of
 * each slice's transaction: called again with that state, it goes on where it was. The last slice shows everything; a
 * failure removes it.
 */
export const storeImport =
  (read: ReadImport) =>
  async (
    context: JobContext,
    { file, state: from, ids }: { file: string; state: ImportState; ids: { first: number; count: number } },
  ): Promise<ImportResult> => {
    const { db } = context;
    const target = createImportTarget(db, from, ids);
    const lines = read(file, from.offset, from.line);
    let state = from;
    try {
      for (let done = false; !done; ) {
        done = await context.slice(() => {
          const next = { ...state };
          const until = performance.now() + SLICE_MS;
          let rows = 0;
          let line = lines.next();
          for (; !line.done; line = lines.next()) {
            const added = target.add(cleanMessage(line.value.message));
            if (added) next.imported++;
            else next.skipped++;
            next.offset = line.value.end;
            next.line = line.value.number;
            if (++rows === SLICE_ROWS || performance.now() > until) break;
          }
          target.settle();
          next.sessions = Math.max(from.sessions, target.sessions);
          if (line.done) {
            showStaged(db, next.name, next.agentId);
            forget(db, next.name);
          } else keep(db, next);
          state = next;
          return line.done === true;
        });
        while (await context.slice(() => indexStep(db))) context.signal.throwIfAborted();
        context.signal.throwIfAborted();
      }
    } catch (error) {
      if (context.signal.aborted) throw error;
      // On a disk that is full this may fail, too: then it is still recorded.
      await removeStaged(context, from.name, () => forget(db, from.name)).catch(() => {});
      throw new JobError(IMPORT_FAILED, error instanceof Error ? error.message : String(error));
    } finally {
      lines.return(undefined);
    }
    return { imported: state.imported, skipped: state.skipped, sessions: state.sessions };
  };
