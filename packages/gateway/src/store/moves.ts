import type { Clock } from "../lib/clock.ts";
import type { CopiedRows, CopySide } from "./copy/index.ts";
import type { PostgresPlace } from "./postgres/index.ts";

export type { CopiedRows } from "./copy/index.ts";

/** Where a store is that is copied, backed up or restored. */
export type CopyPlace = { driver: "sqlite"; file: string } | PostgresPlace;
/** Called before each table. */
type Progress = (what: string) => void;

async function openSource(place: CopyPlace, clock: Clock): Promise<CopySide> {
  if (place.driver === "postgres") {
    const { openPostgresSide } = await import("./postgres/index.ts");
    return openPostgresSide(place, clock, "source");
  }
  const { openSqliteSide } = await import("./sqlite/index.ts");
  return openSqliteSide(place.file, false);
}

async function openTarget(place: CopyPlace, clock: Clock): Promise<CopySide> {
  if (place.driver === "postgres") {
    const { openPostgresSide } = await import("./postgres/index.ts");
    return openPostgresSide(place, clock, "target");
  }
  const { openSqliteSide } = await import("./sqlite/index.ts");
  return openSqliteSide(place.file, true);
}

/** Copies, and closes both. */
async function copyAcross(
  source: CopySide,
  openOther: () => Promise<CopySide>,
  progress: Progress,
): Promise<CopiedRows[]> {
  const { checkSource, copyStore } = await import("./copy/index.ts");
  try {
    await checkSource(source);
    const target = await openOther();
    try {
      return await copyStore(source, target, progress);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/**
 * Copies a store that no gateway uses into an empty one, or goes on with that, and compares both at the end.
 * @throws Error with a sentence
 */
export async function copyBetween(
  from: CopyPlace,
  to: CopyPlace,
  clock: Clock,
  progress: Progress,
): Promise<CopiedRows[]> {
  return copyAcross(await openSource(from, clock), () => openTarget(to, clock), progress);
}

/**
 * Copies a schema of Postgres, as it is at one moment, into a new SQLite database, while gateways use it.
 * @throws Error with a sentence
 */
export async function snapshotTo(
  file: string,
  place: PostgresPlace,
  clock: Clock,
  progress: Progress,
): Promise<void> {
  const { openPostgresSide } = await import("./postgres/index.ts");
  const { openSqliteSide } = await import("./sqlite/index.ts");
  await copyAcross(
    await openPostgresSide(place, clock, "snapshot"),
    async () => openSqliteSide(file, true),
    progress,
  );
}

/** A store from a backup, in place; no gateway starts on it before `finish`. */
export interface RestoredStore {
  /** Name under which the schema that stood there is kept; null if there was none. */
  movedTo: string | null;
  finish(): Promise<void>;
  /** Leaves everything as it was before. */
  undo(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Puts the content of a SQLite database, from a backup, in the place of a schema of Postgres.
 * @param replace whether a schema that holds something may be kept under another name
 * @throws Error with a sentence; nothing was changed then
 */
export async function restoreFrom(
  file: string,
  place: PostgresPlace,
  clock: Clock,
  replace: boolean,
  progress: Progress,
): Promise<RestoredStore> {
  const { stageRestore } = await import("./postgres/index.ts");
  const { openSqliteSide } = await import("./sqlite/index.ts");
  const staged = await stageRestore(place, clock, replace);
  try {
    const source = openSqliteSide(file, true, true);
    try {
      const { copyStore } = await import("./copy/index.ts");
      await copyStore(source, staged.side, progress);
    } finally {
      await source.close();
    }
    const movedTo = await staged.swap();
    return { movedTo, finish: staged.finish, undo: staged.undo, close: staged.close };
  } catch (error) {
    await staged.undo().catch(() => {});
    await staged.close();
    throw error;
  }
}
