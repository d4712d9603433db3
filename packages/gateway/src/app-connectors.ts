import { type ConfigStore, connectorSecretsFile, type Env, type Paths } from "./config/index.ts";
import { createConnectors } from "./connectors/index.ts";
import type { Feed } from "./events/index.ts";
import { routes } from "./http/index.ts";
import type { Clock } from "./lib/clock.ts";
import type { Logger } from "./lib/logger.ts";

interface Deps {
  store: ConfigStore;
  paths: Paths;
  env: Env;
  feed: Pick<Feed, "tell">;
  onSecret(value: string): void;
  clock: Clock;
  log: Logger;
}

/** The owner's connectors, and the routes that manage them. */
export function createAppConnectors({ store, paths, env, feed, ...base }: Deps) {
  const connectors = createConnectors({
    ...base,
    config: store,
    secretsFile: connectorSecretsFile(paths, env),
    tell: feed.tell,
  });
  return { ...connectors, endpoints: routes.connectorRoutes({ connectors: connectors.manage }) };
}
