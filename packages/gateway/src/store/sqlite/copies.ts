import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../lib/clock.ts";
import { diskProblem, StartError } from "../../lib/start-error.ts";
import type { Param, Statement } from "../statement.ts";
import { schemaOf } from "./schema.ts";

/** Where the copies are noted. */
interface Notes {
  all<T>(sql: string, params: readonly Param[]): T[];
  write(statement: Statement): Promise<unknown>;
}

const DAY_MS = 86_400_000;
const SWEEP_MS = 3_600_000;
/** A start that failed, as with a database that cannot be opened. */
const EXIT_FAILED = 1;

const copyOf = (file: string, version: number) => `${file}.before-${version}`;
const keyOf = (name: string) => `copy:${name}`;
const mebibytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`;

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Whether a migration that did not finish made the copy: it is from before its first step. A copy of one after which a
 * start succeeded is noted; a database that a downgrade took back since then holds more than that copy.
 */
function isUnfinished(db: DatabaseSync, copy: string): boolean {
  const { version } = schemaOf(db);
  if (!existsSync(copy) || db.prepare("SELECT 1 FROM meta WHERE key = ?").get(keyOf(basename(copy))))
    return false;
  let kept: DatabaseSync | undefined;
  try {
    kept = new DatabaseSync(copy, { readOnly: true });
    return schemaOf(kept).version < version;
  } catch {
    return false;
  } finally {
    kept?.close();
  }
}

/**
 * Copies the database to `<file>.before-<version>` before a migration to that version changes it.
 * @throws StartError when there is no room for it, with nothing left behind
 */
export function copyBefore(db: DatabaseSync, file: string, version: number): void {
  const target = copyOf(file, version);
  if (isUnfinished(db, target)) return;
  const refuse = (reason: string) =>
    new StartError(
      `The database (${file}) could not be copied before its update to schema ${version}: ${reason}. Nothing was changed. Make room on its disk, and start again.`,
      EXIT_FAILED,
    );
  const needed = sizeOf(file) + sizeOf(`${file}-wal`);
  const { bavail, bsize } = statfsSync(dirname(file));
  if (bavail * bsize < needed) {
    throw refuse(`the copy needs ${mebibytes(needed)}, and ${mebibytes(bavail * bsize)} are free`);
  }
  const partial = `${target}.partial`;
  try {
    rmSync(partial, { force: true });
    db.prepare("VACUUM INTO ?").run(partial);
    const written = openSync(partial, "r+");
    fsyncSync(written);
    closeSync(written);
    renameSync(partial, target);
    db.prepare("DELETE FROM meta WHERE key = ?").run(keyOf(basename(target)));
  } catch (error) {
    rmSync(partial, { force: true, recursive: true });
    throw refuse(diskProblem(error) ?? "writing failed");
  }
}

/**
 * Removes each copy a day after the first start that succeeded with what replaced it.
 * @returns a function that ends the sweeping
 */
export function sweepCopies(db: Notes, file: string, clock: Clock): () => void {
  const pattern = new RegExp(`^${RegExp.escape(basename(file))}\\.before-\\d+$`);
  const sweep = async () => {
    for (const name of await readdir(dirname(file))) {
      if (!pattern.test(name)) continue;
      const since = db.all<{ value: string }>("SELECT value FROM meta WHERE key = ?", [keyOf(name)])[0]
        ?.value;
      if (since === undefined) {
        const sql = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING";
        await db.write({ sql, params: [keyOf(name), String(clock.now())] });
      } else if (Number(since) + DAY_MS <= clock.now()) {
        await rm(join(dirname(file), name), { force: true });
        await db.write({ sql: "DELETE FROM meta WHERE key = ?", params: [keyOf(name)] });
      }
    }
  };
  // What fails now, a full disk for one, is done an hour later.
  const attempt = () => void sweep().catch(() => {});
  attempt();
  return clock.every(SWEEP_MS, attempt);
}
