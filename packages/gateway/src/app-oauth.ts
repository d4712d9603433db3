import { type ConfigStore, type Env, homeEnvFile, type Paths, readDotenv } from "./config/index.ts";
import { createOAuth, type OAuthDeps } from "./connectors/index.ts";
import { routes } from "./http/index.ts";
import { isLoopbackHost } from "./lib/loopback.ts";

interface Deps extends Pick<OAuthDeps, "file" | "onSecret" | "clock" | "log"> {
  store: ConfigStore;
  paths: Paths;
  env: Env;
  /** Of the gateway's server, once it listens. */
  port(): number | undefined;
  /** Where several gateways share a store. */
  node: string;
}

const CALLBACK = "/oauth/mcp/callback";

/** The sign-in to connectors, its routes, and the job that keeps their tokens fresh. */
export function createAppOAuth({ store, paths, env, port, node, ...base }: Deps) {
  const gateway = () => store.current.gateway;
  const oauth = createOAuth(
    {
      ...base,
      entries: () => gateway().customConnectors,
      env: async () => ({ ...(await readDotenv(homeEnvFile(paths))), ...env }),
      callback() {
        const { publicUrl, bind } = gateway();
        if (publicUrl !== undefined) return `${publicUrl}${CALLBACK}`;
        const host = bind.includes(":") ? `[${bind}]` : bind === "localhost" ? "127.0.0.1" : bind;
        return isLoopbackHost(bind) ? `http://${host}:${port()}${CALLBACK}` : undefined;
      },
    },
    node,
  );
  return {
    refresh: oauth.refresh,
    endpoints: routes.connectorOAuthRoutes({ oauth, returnUrl: () => gateway().oauthReturnUrl }),
  };
}
