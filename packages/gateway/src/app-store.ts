import type { Worker } from "node:worker_threads";
import type { ConfigStore, Paths } from "./config/index.ts";
import { historyFiles } from "./history/index.ts";
import type { Clock } from "./lib/clock.ts";
import type { Logger } from "./lib/logger.ts";
import { startWith } from "./lib/start-error.ts";
import { openStore, type Store } from "./store/index.ts";
import { VERSION } from "./version.ts";

interface Deps {
  store: Pick<ConfigStore, "current">;
  paths: Paths;
  clock: Clock;
  log: Logger;
  writer: Worker | undefined;
  onSecret(value: string): void;
}

/** Opens the store that the configuration names. */
export async function openRows({ store, paths, clock, log, writer, onSecret }: Deps): Promise<Store> {
  const { driver, url, ...rest } = store.current.gateway.store;
  if (driver === "sqlite" || url === undefined) {
    const unreadable = (reason: string) =>
      `The database (${paths.database}) cannot be used: ${reason}. Restore it from a backup, or move it away to begin with an empty one.`;
    return startWith(1, unreadable, () =>
      openStore({ driver: "sqlite", file: paths.database, writer }, clock, VERSION),
    );
  }
  void writer?.terminate();
  onSecret(url);
  const { password } = new URL(url);
  if (password) for (const secret of [password, decodeURIComponent(password)]) onSecret(secret);
  return openStore({ driver, url, ...rest, files: historyFiles }, clock, VERSION, (sentence) =>
    log.warn({}, sentence),
  );
}
