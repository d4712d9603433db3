import { access } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";

/**
 * Whether a process has the database open, in whatever state it or its machine is: in WAL mode every connection holds
 * a shared lock for as long as it lives (https://sqlite.org/wal.html#noshm), so that none other can have it alone.
 */
export async function isDatabaseInUse(file: string): Promise<boolean> {
  const there = await access(file).then(
    () => true,
    () => false,
  );
  if (!there) return false;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { timeout: 0 });
    db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK");
    return false;
  } catch (error) {
    return /locked|busy/i.test((error as Error).message);
  } finally {
    db?.close();
  }
}
