import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Paths } from "./types.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** Replaces a leading `~` with the user's home directory. */
export function expandHome(path: string, env: Env): string {
  return path === "~" || path.startsWith("~/") ? join(env.HOME || homedir(), path.slice(1)) : path;
}

/** Paths derived from `GATEWAY_HOME` (default `~/.agent-gateway`) and `GATEWAY_CONFIG`. Does not touch any file. */
export function createPaths(env: Env): Paths {
  const home = resolve(expandHome(env.GATEWAY_HOME || "~/.agent-gateway", env));
  const agentDir = (agentId: string) => join(home, "agents", agentId);
  return {
    home,
    configFile: env.GATEWAY_CONFIG ? resolve(expandHome(env.GATEWAY_CONFIG, env)) : join(home, "config.json"),
    database: join(home, "gateway.db"),
    logs: join(home, "logs"),
    agentDir,
    sessionDir: (agentId, chatId, sessionId) => join(agentDir(agentId), "sessions", chatId, sessionId),
    mediaDir: (agentId) => join(agentDir(agentId), "media"),
  };
}

/** The gateway's own `.env`. */
export const homeEnvFile = (paths: Paths): string => join(paths.home, ".env");
/** The secrets of the owner's connectors. */
export const connectorSecretsFile = (paths: Paths, env: Env): string =>
  env.GATEWAY_MCP_TOKEN_ENV_PATH
    ? resolve(expandHome(env.GATEWAY_MCP_TOKEN_ENV_PATH, env))
    : join(paths.home, "mcp-token.env");
/** An agent's `.env`. */
export const agentEnvFile = (paths: Paths, agentId: string): string => join(paths.agentDir(agentId), ".env");
/** The last configuration that loaded successfully. */
export const lastGoodFile = (paths: Paths): string => join(paths.home, "config.last-good.json");
