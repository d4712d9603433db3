import { stat } from "node:fs/promises";
import { backup, DatabaseSync } from "node:sqlite";
import { CliError } from "../errors.ts";

/** One step copies everything: a copy in several steps starts over whenever the gateway writes in between. */
const ALL_PAGES = 2 ** 31 - 1;

const exists = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  );

/**
 * Copies a database as it is at one moment, while others read and write it.
 * @returns false if there is none
 */
export async function snapshotDatabase(file: string, target: string): Promise<boolean> {
  if (!(await exists(file))) return false;
  const source = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  try {
    await backup(source, target, { rate: ALL_PAGES });
  } finally {
    source.close();
  }
  // The copy is one file: no log belongs to it.
  const copy = new DatabaseSync(target);
  copy.exec("PRAGMA journal_mode = DELETE");
  copy.close();
  return true;
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
