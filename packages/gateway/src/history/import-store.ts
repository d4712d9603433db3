import type { Connection, JobContext } from "../store/sqlite/index.ts";
import type { StoredLine } from "./import-check.ts";
import { createImportTarget } from "./import-target.ts";
import { readLines } from "./lines.ts";
import { indexStep } from "./search-index.ts";

/** A checked import on its way into the store; kept in `meta`, so that a crash only interrupts it. */
export interface ImportState {
  /** Name of the file in the spool folder. */
  name: string;
  agentId: string;
  offset: number;
  line: number;
  imported: number;
  skipped: number;
  sessions: number;
}
export interface ImportResult {
  imported: number;
  skipped: number;
  sessions: number;
}

const SLICE_MS = 12;
const metaKey = (name: string) => `import:${name}`;

/** Imports that were in progress when the gateway stopped. */
export function parseImportStates(rows: readonly { value: string }[]): ImportState[] {
  return rows.map((row) => JSON.parse(row.value) as ImportState);
}

function keep(db: Connection, state: ImportState): void {
  db.run(
    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    [metaKey(state.name), JSON.stringify(state)],
  );
}
const forget = (db: Connection, name: string) => db.run("DELETE FROM meta WHERE key = ?", [metaKey(name)]);

/**
 * Job of the writer: stores the messages of a checked file and indexes them, in slices. How far it came is part of
 * each slice's transaction: called again with that state, it goes on where it was. A failure ends it for good.
 */
export async function storeImport(
  context: JobContext,
  { file, state: from }: { file: string; state: ImportState },
): Promise<ImportResult> {
  const { db } = context;
  const target = createImportTarget(db, from.agentId);
  const lines = readLines(file, from.offset, from.line);
  let state = from;
  try {
    for (let done = false; !done; ) {
      done = await context.slice(() => {
        const next = { ...state };
        const until = performance.now() + SLICE_MS;
        let line = lines.next();
        for (; !line.done; line = lines.next()) {
          // The whole file has been checked already.
          const added = target.add(JSON.parse(line.value.text!) as StoredLine);
          if (added) next.imported++;
          else next.skipped++;
          next.offset = line.value.end;
          next.line = line.value.number;
          if (performance.now() > until) break;
        }
        target.settle();
        next.sessions = Math.max(from.sessions, target.sessions);
        if (line.done) forget(db, next.name);
        else keep(db, next);
        state = next;
        return line.done === true;
      });
      while (await context.slice(() => indexStep(db))) context.signal.throwIfAborted();
      context.signal.throwIfAborted();
    }
  } catch (error) {
    if (!context.signal.aborted) await context.slice(() => forget(db, from.name)).catch(() => {});
    throw error;
  } finally {
    lines.return(undefined);
  }
  return { imported: state.imported, skipped: state.skipped, sessions: state.sessions };
}
