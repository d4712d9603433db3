import type { AgentRecordConnectors } from "@agent-gateway/contract";
import type { AgentConfig, ConfigStore } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { once } from "../lib/once.ts";
import type { McpServer } from "../runtimes/index.ts";
import { createRegistry, isConnected, secretsOf, serverOf } from "./registry.ts";
import { createTokenFile, type TokenFile } from "./token-file.ts";
import { type ConnectorEvent, createWatch } from "./watch.ts";

export type { Manager } from "./manage.ts";
export { createOAuth, type OAuth, type OAuthDeps, type Outcome } from "./oauth/index.ts";

export interface ConnectorDeps {
  config: ConfigStore;
  /** File with the secrets. */
  secretsFile: string;
  /** Gets the values that must not appear in logs, before they are used. */
  onSecret(value: string): void;
  /** Tells an event of the feed. */
  tell(event: ConnectorEvent): void;
  clock: Clock;
  log: Logger;
}

const NONE: Readonly<Record<string, McpServer>> = Object.freeze({});

/**
 * The owner's connectors: MCP servers for agents. One is connected when the file of secrets has a value for each of its
 * placeholders (`CUSTOM__<connector>__<placeholder>`).
 */
export function createConnectors(deps: ConnectorDeps) {
  const { config, secretsFile, onSecret, log } = deps;
  const registry = createRegistry({ config: () => config.current, log });
  const file = createTokenFile(secretsFile);
  const lookAgain = createWatch(registry, file, deps.tell);
  let source = config.current.gateway.customConnectors;
  config.onChange((next) => {
    if (next.gateway.customConnectors !== source) void lookAgain();
    source = next.gateway.customConnectors;
  });
  /** The file of secrets; what its changes connect or disconnect is told. */
  const tokens: TokenFile = {
    read: file.read,
    async edit(change) {
      await file.edit(change);
      await lookAgain();
    },
  };
  const manage = once(async () => {
    const { createManager } = await import("./manage.ts");
    return createManager({ config, registry, tokens, clock: deps.clock });
  });

  const enabledFor = (agent: AgentConfig, id: string): boolean => {
    const { customConnectors, connectorsDefaultEnabled } = config.current.gateway;
    const own = agent.connectors?.[id]?.enabled;
    if (own !== undefined) return own;
    return customConnectors[id]?.defaultEnabled === false ? false : connectorsDefaultEnabled;
  };

  return {
    /** What the routes do, loaded by the first request. */
    manage,
    tokens,
    /** The tool servers that a new process of this agent gets, with their secrets. Never rejects. */
    async serversFor(agent: AgentConfig): Promise<Readonly<Record<string, McpServer>>> {
      const wanted = [...registry().values()].filter(
        ({ id, entry }) => entry && mayUse(agent.allowTools, id) && enabledFor(agent, id),
      );
      if (wanted.length === 0) return NONE;
      const now = await tokens.read();
      const servers: Record<string, McpServer> = {};
      for (const connector of wanted) {
        if (!isConnected(connector, now)) continue;
        for (const value of secretsOf(connector, now).values()) onSecret(value);
        const server = serverOf(connector, now);
        if (server) servers[connector.id] = server;
        else
          log.warn({ connector: connector.id }, "connector is left out: its url is not an http(s) address");
      }
      return servers;
    },
    /** The connectors as the agent's record shows them: those of the configuration, and those it has a switch for. */
    async ofAgent(agent: AgentConfig): Promise<AgentRecordConnectors> {
      const connectors = registry();
      const ids = new Set([...connectors.keys(), ...Object.keys(agent.connectors ?? {})]);
      if (ids.size === 0) return {};
      const now = await tokens.read();
      return Object.fromEntries(
        [...ids].map((id) => {
          const connector = connectors.get(id);
          const connected = connector !== undefined && isConnected(connector, now);
          const enabled = agent.connectors?.[id]?.enabled ?? null;
          return [id, { enabled, effective: connected && enabledFor(agent, id) }];
        }),
      );
    },
  };
}
export type Connectors = ReturnType<typeof createConnectors>;

/** A list names the connectors' tools as `mcp__<connector>` or `mcp__<connector>__<tool>`. */
function mayUse(allowTools: boolean | readonly string[], id: string): boolean {
  if (typeof allowTools === "boolean") return allowTools;
  return allowTools.some((name) => name === `mcp__${id}` || name.startsWith(`mcp__${id}__`));
}
