import { DatabaseSync } from "node:sqlite";
import type { StoreVersions } from "../versions.ts";
import { downgrade, lossesOf } from "./downgrade.ts";
import { MIGRATIONS } from "./migrations.ts";
import { inTransaction, schemaOf, setOldest } from "./schema.ts";

export function openVersions(file: string): StoreVersions {
  const db = new DatabaseSync(file, { timeout: 2000 });
  const { version, oldest } = schemaOf(db);
  return {
    version,
    oldest,
    known: version <= MIGRATIONS.length,
    lossesAt: async (to) => lossesOf(db, to),
    downgrade: async (to) => downgrade(db, to),
    contract: async (gateway) => inTransaction(db, () => setOldest(db, version, gateway)),
    close: () => db.close(),
  };
}
