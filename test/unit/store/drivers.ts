import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { openStore, type Store } from "../../../packages/gateway/src/store/index.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";

/** What each conformance suite of a repository runs against: an empty store of every driver. */
export const drivers: readonly { driver: string; open(): Promise<Store> }[] = [
  { driver: "SQLite", open: async () => createStore(memoryDatabase()) },
  ...(withoutPostgres()
    ? []
    : [
        {
          driver: "Postgres",
          open: async () => openStore(await postgresStore(), systemClock),
        },
      ]),
];
