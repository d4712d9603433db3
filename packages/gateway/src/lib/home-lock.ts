import { randomUUID } from "node:crypto";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { writeFileAtomic } from "./atomic-file.ts";
import { bootId } from "./boot-id.ts";
import type { Clock } from "./clock.ts";
import { readNamed } from "./guarded/index.ts";
import { networkDisk } from "./network-disk.ts";
import { StartError } from "./start-error.ts";

/** `SQLITE_BUSY` of https://www.sqlite.org/rescode.html: another process holds the lock. */
const SQLITE_BUSY = 5;
const MAX_RECORD_BYTES = 4096;
/** `EX_CONFIG` of sysexits.h. */
const EXIT_CONFIG = 78;

/** Another gateway runs on the same home. */
export class HomeInUseError extends Error {}

/** A home that only this process writes to. */
export interface HomeLock {
  /**
   * `id`: the same for every process that locks this home; a copy of the home has another one, unless it is one of the
   * whole disk. `here`: the same, with what differs on another disk or after a start of the system.
   */
  identity(): Promise<{ id: string; here: string }>;
  release(): Promise<void>;
}

/**
 * Locks the home for this process. It is an operating-system lock on `run/gateway.lock`, taken through SQLite, which
 * needs no native code of our own on any platform: it ends with the process however that ends, is not passed on to
 * children, works across containers and, unlike a file with a process id, leaves no moment in which two processes could
 * take over from a dead one. `run/gateway.json` only records the holder.
 * @throws {HomeInUseError} while another process holds it.
 * @throws {StartError} on a network file system, where a lock proves nothing about other machines.
 */
export async function lockHome(home: string, clock: Clock): Promise<HomeLock> {
  const dir = join(home, "run");
  const record = join(dir, "gateway.json");
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const network = await networkDisk(dir);
  if (network !== undefined) {
    throw new StartError(
      `The gateway's home (${home}) is on a network file system (${network}), whose locks do not keep a second gateway away. Set GATEWAY_HOME to a folder on a local disk.`,
      EXIT_CONFIG,
    );
  }
  const file = new DatabaseSync(join(dir, "gateway.lock"));
  try {
    file.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
    const { pid } = await readHolder(record);
    throw new HomeInUseError(
      `Another gateway${pid === undefined ? "" : ` (process ${pid})`} already runs with this home (${home}); stop it, or set GATEWAY_HOME to another folder.`,
    );
  }
  await writeFileAtomic(record, `${JSON.stringify({ pid: process.pid, startedAt: clock.now() })}\n`);
  return {
    async identity() {
      const id = await identify(dir);
      const { dev } = await stat(dir);
      return { id, here: `${id}@${await bootId()}:${dev}` };
    },
    async release() {
      await rm(record, { force: true });
      if (file.isOpen) file.close();
    },
  };
}

/** The id stored with the lock, if it was made for this very file. */
async function identify(dir: string): Promise<string> {
  const record = join(dir, "home.json");
  const { ino } = await stat(join(dir, "gateway.lock"));
  try {
    const known = JSON.parse((await readNamed(record, MAX_RECORD_BYTES)).toString("utf8")) as {
      id?: unknown;
      inode?: unknown;
    };
    if (typeof known.id === "string" && known.inode === ino) return known.id;
  } catch {
    // None yet, or none that can be read.
  }
  const id = randomUUID();
  await writeFileAtomic(record, `${JSON.stringify({ id, inode: ino })}\n`);
  return id;
}

async function readHolder(record: string): Promise<{ pid?: number | undefined }> {
  try {
    const { pid } = JSON.parse((await readNamed(record, MAX_RECORD_BYTES)).toString("utf8")) as {
      pid?: unknown;
    };
    return { pid: typeof pid === "number" ? pid : undefined };
  } catch {
    return {};
  }
}
