import { access } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";

/**
 * Whether any process has the database open: in WAL mode every connection holds a shared lock for its lifetime
 * (https://sqlite.org/wal.html#noshm), so no other can lock it exclusively.
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
