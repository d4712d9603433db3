import { join } from "node:path";
import type { ConfigStore, Env, Paths } from "./config/index.ts";
import type { Feed } from "./events/index.ts";
import { routes } from "./http/index.ts";
import type { Clock } from "./lib/clock.ts";
import type { Logger } from "./lib/logger.ts";
import { createPackages } from "./packages/index.ts";
import { VERSION } from "./version.ts";

/** What the process itself does for its rooms. */
export interface Host {
  /** Hides the values of secrets that are known so far. */
  mask(text: string): string;
  /** Stops the gateway in order, with the exit code that asks its supervisor for a new start. */
  restart(): void;
}

interface Deps extends Host {
  store: Pick<ConfigStore, "current">;
  paths: Paths;
  env: Env;
  clock: Clock;
  log: Logger;
  feed: Pick<Feed, "tell">;
}

/** The packages room with its routes. */
export function createAppPackages({ store, paths, env, clock, log, mask, restart, feed }: Deps) {
  const packages = createPackages({
    names: () => store.current.gateway.packages,
    env,
    home: paths.home,
    configFile: paths.configFile,
    tempDir: join(paths.home, "run/packs"),
    noteFile: join(paths.home, "run/update.json"),
    version: VERSION,
    mask,
    onUpdated: (data) => feed.tell({ type: "package.updated", data }),
    clock,
    log,
  });
  return {
    endpoints: routes.packageRoutes({ packages, restart, clock }),
    recover: packages.recover,
  };
}
