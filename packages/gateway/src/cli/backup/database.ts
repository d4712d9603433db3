import { rm, stat } from "node:fs/promises";
import { backup, DatabaseSync } from "node:sqlite";
import { systemClock } from "../../lib/clock.ts";
import { diskProblem } from "../../lib/start-error.ts";
import { type CopyPlace, type RestoredStore, restoreFrom, snapshotTo } from "../../store/index.ts";
import { CliError } from "../errors.ts";
import type { Progress } from "../output.ts";

/** One step copies everything: a copy in several steps starts over whenever the gateway writes in between. */
const ALL_PAGES = 2 ** 31 - 1;

const exists = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  );

/** The copy becomes one file, to which no log belongs. */
function withoutLog(file: string): void {
  const copy = new DatabaseSync(file);
  copy.exec("PRAGMA journal_mode = DELETE");
  copy.close();
}

/**
 * Copies a store as it is at one moment, while others read and write it, into a SQLite database: whatever the driver,
 * an archive has one form, which every driver can be restored from.
 * @returns false if there is none
 * @throws CliError
 */
export async function snapshotStore(store: CopyPlace, target: string, progress: Progress): Promise<boolean> {
  if (store.driver === "postgres") {
    await told(() =>
      snapshotTo(target, store, systemClock, (what) => progress.update(`copying ${what} from Postgres`)),
    );
  } else {
    if (!(await exists(store.file))) return false;
    const source = new DatabaseSync(store.file, { readOnly: true, timeout: 5000 });
    try {
      await backup(source, target, { rate: ALL_PAGES });
    } finally {
      source.close();
    }
  }
  withoutLog(target);
  return true;
}

/**
 * Puts the database of an archive, which is removed, in the place of a store on Postgres.
 * @throws CliError; nothing was changed then
 */
export async function restoreStore(
  file: string,
  place: Extract<CopyPlace, { driver: "postgres" }>,
  replace: boolean,
  progress: Progress,
): Promise<RestoredStore> {
  const restored = await told(() =>
    restoreFrom(file, place, systemClock, replace, (what) =>
      progress.update(`restoring ${what} to Postgres`),
    ),
  );
  for (const end of ["", "-wal", "-shm"]) await rm(file + end, { force: true });
  return restored;
}

/** What fails becomes a sentence of a command. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = diskProblem(error);
    if (reason === undefined) throw new CliError((error as Error).message, { cause: error });
    throw new CliError(`The rows could not be copied: ${reason}.`, { cause: error });
  }
}

/**
 * Checks every page and index of a database that nothing else is using.
 * @throws CliError
 */
export function checkDatabase(file: string): void {
  const damaged = (cause?: unknown) => new CliError("The database in the archive is damaged.", { cause });
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { readOnly: true });
    const [row] = db.prepare("PRAGMA integrity_check(1)").all();
    if (row?.integrity_check !== "ok") throw damaged();
  } catch (error) {
    throw error instanceof CliError ? error : damaged(error);
  } finally {
    db?.close();
  }
}
