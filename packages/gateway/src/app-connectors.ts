import { type ConfigStore, connectorSecretsFile, type Env, type Paths } from "./config/index.ts";
import { type ConnectorDeps, createConnectors } from "./connectors/index.ts";
import type { Feed } from "./events/index.ts";
import { routes } from "./http/index.ts";
import { VERSION } from "./version.ts";

interface Deps extends Pick<ConnectorDeps, "reaper" | "onSecret" | "clock" | "log"> {
  store: ConfigStore;
  paths: Paths;
  env: Env;
  feed: Pick<Feed, "tell">;
}

/** The owner's connectors, and the routes that manage them. */
export function createAppConnectors({ store, paths, env, feed, ...base }: Deps) {
  const connectors = createConnectors({
    ...base,
    config: store,
    home: paths.home,
    hostEnv: env,
    version: VERSION,
    fetch,
    secretsFile: connectorSecretsFile(paths, env),
    tell: feed.tell,
  });
  return {
    ...connectors,
    endpoints: routes.connectorRoutes({ connectors: connectors.manage, test: connectors.test }),
  };
}
