import type { DatabaseSync } from "node:sqlite";
import { StartError } from "../../lib/start-error.ts";
import { BREAKING, MIGRATIONS } from "./migrations.ts";

/** What a database says about itself. */
export interface SchemaState {
  /** Steps that it has been through; 0 if it is empty. */
  version: number;
  /** The oldest schema whose gateways may use it. */
  oldest: number;
  /** Version of a gateway that may, as far as it is known. */
  gateway: string | undefined;
}

/** `EX_CONFIG` of sysexits.h. */
const EXIT_CONFIG = 78;

const oldestAt = (version: number) => Math.max(1, ...BREAKING.filter((step) => step <= version));

export function schemaOf(db: DatabaseSync): SchemaState {
  const { user_version: version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
  if (version === 0) return { version, oldest: 0, gateway: undefined };
  const meta = (key: string) =>
    db.prepare("SELECT value FROM meta WHERE key = ?").get(key)?.value as string | undefined;
  const oldest = meta("oldest");
  return {
    version,
    oldest: oldest === undefined ? oldestAt(version) : Number(oldest),
    gateway: meta("oldest_gateway"),
  };
}

/** Inside a transaction: gateways that know only schemas below `oldest` may not use the database any more. */
export function setOldest(db: DatabaseSync, oldest: number, gateway: string | undefined): void {
  const put = db.prepare(
    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
  );
  put.run("oldest", String(oldest));
  if (gateway !== undefined) put.run("oldest_gateway", gateway);
}

/** Runs `work` in a transaction of its own. */
export function inTransaction(db: DatabaseSync, work: () => void): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    work();
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/**
 * Brings the schema up to date, one transaction per step. A database of a newer gateway is left as it is.
 * @param gateway version of this gateway
 * @param before called with the new version before anything in an existing database is changed
 * @throws StartError when the database allows only newer gateways
 */
export function migrate(
  db: DatabaseSync,
  gateway?: string,
  before: (version: number) => void = () => {},
): void {
  const known = MIGRATIONS.length;
  const { version, oldest, gateway: needed } = schemaOf(db);
  if (oldest > known) {
    throw new StartError(
      `The database needs ${needed === undefined ? "a newer gateway" : `version ${needed} of the gateway or a newer one`}: it allows schema ${oldest} and newer, and this gateway knows schema ${known}. Update the gateway, or restore a backup.`,
      EXIT_CONFIG,
    );
  }
  if (version > 0 && version < known) before(known);
  for (let step = version + 1; step <= known; step++) {
    inTransaction(db, () => {
      db.exec(MIGRATIONS[step - 1]!);
      if (BREAKING.includes(step)) setOldest(db, step, gateway);
      db.exec(`PRAGMA user_version = ${step}`);
    });
  }
}
