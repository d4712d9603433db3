import { DatabaseSync } from "node:sqlite";
import { downgrade, type Loss, lossesOf } from "./downgrade.ts";
import { MIGRATIONS } from "./migrations.ts";
import { inTransaction, schemaOf, setOldest } from "./schema.ts";

/** The schema of a database that no gateway uses. */
export interface StoreVersions {
  readonly version: number;
  /** The oldest schema whose gateways may use it. */
  readonly oldest: number;
  /** Whether this gateway knows everything in it. */
  readonly known: boolean;
  lossesAt(version: number): Loss[];
  /** Takes it back, with what {@link lossesAt} names discarded. */
  downgrade(version: number): void;
  /** From now on only gateways that know its schema may use it. */
  contract(gateway: string): void;
  close(): void;
}

export function openVersions(file: string): StoreVersions {
  const db = new DatabaseSync(file, { timeout: 2000 });
  const { version, oldest } = schemaOf(db);
  return {
    version,
    oldest,
    known: version <= MIGRATIONS.length,
    lossesAt: (to) => lossesOf(db, to),
    downgrade: (to) => downgrade(db, to),
    contract: (gateway) => inTransaction(db, () => setOldest(db, version, gateway)),
    close: () => db.close(),
  };
}
