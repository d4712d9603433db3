import { type Clock, sleep } from "../../../lib/clock.ts";
import { sql } from "../../change.ts";
import { cleanMessage } from "../../clean.ts";
import { type AsOwner, FencedError } from "../../directory.ts";
import type { HistoryFiles } from "../../files.ts";
import { IMPORT_FAILED, type ImportState, type Imports, type ReadImport } from "../../imports.ts";
import type { Statement } from "../../statement.ts";
import { toldAs } from "../problems.ts";
import { ownedWork, type Work } from "../work.ts";
import { isOvertaken, removeStaged, showStaged } from "./staged.ts";
import { createStaging, type Numbered } from "./staging.ts";

const UNIT_ROWS = 1000;
/** Characters of the messages of a unit; a longer one has a unit to itself. */
const UNIT_CHARS = 2 * 1024 * 1024;
/** How often a transaction whose connection broke is looked for, and how long after each other. */
const ATTEMPTS = 20;
const PAUSE_MS = 1000;

const keyOf = (name: string) => `import:${name}`;
const keep = (state: ImportState): Statement =>
  sql(
    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    keyOf(state.name),
    JSON.stringify(state),
  );
const forget = (name: string): Statement => sql("DELETE FROM meta WHERE key = ?", keyOf(name));

/** The next messages for one unit, and whether the file ends behind them. */
function takeUnit(lines: ReturnType<ReadImport>): { batch: Numbered[]; done: boolean } {
  const batch: Numbered[] = [];
  let chars = 0;
  while (batch.length < UNIT_ROWS && chars < UNIT_CHARS) {
    const line = lines.next();
    if (line.done) return { batch, done: true };
    batch.push({ ...line.value, message: cleanMessage(line.value.message) });
    chars += line.value.message.content.length;
  }
  return { batch, done: false };
}

/**
 * Imports, staged in units and shown or removed by the last one. How far one came is part of each unit: called again
 * with that state, it goes on where it was.
 * @param around what a driver gets for its imports
 * @param closing aborted when the store is about to close
 */
export function createImports(
  work: Work,
  clock: Clock,
  files: Pick<HistoryFiles, "check" | "read">,
  { range, asOwner }: { range(count: number): Promise<number>; asOwner(agentId: string): AsOwner },
  closing: AbortSignal,
): Imports {
  const stateOf = async (name: string): Promise<ImportState | undefined> => {
    const [row] = await work.read<{ value: string }>("SELECT value FROM meta WHERE key = ?", [keyOf(name)]);
    return row && (JSON.parse(row.value) as ImportState);
  };

  /** Does it again while the store does not answer: what only looks, or makes no difference the second time. */
  const patiently = async <T>(look: () => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await look();
      } catch (error) {
        if (closing.aborted || attempt === ATTEMPTS || !isAway(error)) throw error;
        await sleep(clock, PAUSE_MS);
      }
    }
  };

  /** After a transaction that may have been stored: whether `wanted` is what the store says, once it answers. */
  const isStored = (name: string, wanted: ImportState | undefined): Promise<boolean> =>
    patiently(async () => (await stateOf(name))?.line === wanted?.line);

  /** Stores it, if need be again: a connection that broke does not say whether it did. */
  const store = async (name: string, after: ImportState | undefined, write: () => Promise<unknown>) => {
    for (let attempt = 1; ; attempt++) {
      try {
        await write();
        return;
      } catch (error) {
        if (closing.aborted) throw error;
        if (await isStored(name, after)) return;
        if (attempt === ATTEMPTS || !isAway(error)) throw error;
      }
    }
  };

  /** What is there may change between the look and the transaction, which fails then and is made anew. */
  const show = async (owned: Work, { name, agentId }: ImportState) => {
    for (let attempt = 1; ; attempt++) {
      try {
        await store(name, undefined, () => showStaged(owned, name, agentId, forget(name)));
        return;
      } catch (error) {
        if (attempt === ATTEMPTS || !isOvertaken(error)) throw error;
      }
    }
  };

  return {
    check: (file, signal) => files.check({ signal }, { file }),

    async store(file, from, count) {
      const owned = ownedWork(work, asOwner(from.agentId));
      const staging = createStaging(owned, from, { first: await patiently(() => range(count)), count });
      const lines = files.read(file, from.offset, from.line);
      let state = from;
      try {
        // Before anything is staged, so that it cannot be forgotten.
        await store(from.name, from, () => owned.write([keep(from)]));
        for (let done = false; !done; ) {
          const unit = takeUnit(lines);
          done = unit.done;
          if (unit.batch.length === 0) break;
          const { statements, added } = await patiently(() => staging.unit(unit.batch));
          const last = unit.batch.at(-1)!;
          const next = {
            ...state,
            offset: last.end,
            line: last.number,
            imported: state.imported + added,
            skipped: state.skipped + unit.batch.length - added,
            sessions: Math.max(from.sessions, staging.sessions),
          };
          await store(state.name, next, () => owned.write([...statements, keep(next)]));
          state = next;
        }
        await show(owned, state);
      } catch (error) {
        if (closing.aborted) throw error;
        // Where the store does not answer this fails, too: then it is still recorded.
        await removeStaged(work, from.name, forget(from.name)).catch(() => {});
        const message = error instanceof Error ? error.message : String(error);
        throw Object.assign(new Error(message, { cause: error }), { code: IMPORT_FAILED });
      } finally {
        lines.return(undefined);
      }
      return { imported: state.imported, skipped: state.skipped, sessions: state.sessions };
    },

    async unfinished() {
      const rows = await work.read<{ value: string }>(
        "SELECT value FROM meta WHERE key >= 'import:' AND key < 'import;' ORDER BY key",
        [],
      );
      return rows.map(({ value }) => JSON.parse(value) as ImportState);
    },
  };
}

const isAway = (error: unknown) =>
  (toldAs(error) as { code?: string }).code === "UNAVAILABLE" && !(error instanceof FencedError);
