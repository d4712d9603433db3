import type { AgentRecordConnectors } from "@agent-gateway/contract";
import type { AgentConfig, ConfigStore, Variables } from "../config/index.ts";
import { makeFolder } from "../lib/guarded/index.ts";
import { once } from "../lib/once.ts";
import type { McpServer } from "../runtimes/index.ts";
import type { Found, LookDeps } from "./connect.ts";
import type { Candidate } from "./health.ts";
import { createRegistry, isConnected, type Registered, secretsOf, serverOf } from "./registry.ts";
import { createTokenFile, type TokenFile } from "./token-file.ts";
import { type ConnectorEvent, createWatch } from "./watch.ts";

export type { Manager } from "./manage.ts";
export { createOAuth, type OAuth, type OAuthDeps, type Outcome } from "./oauth/index.ts";

export interface ConnectorDeps extends LookDeps {
  /** Where a server starts that no agent has. */
  home: string;
  config: ConfigStore;
  /** File with the secrets. */
  secretsFile: string;
  /** Gets the values that must not appear in logs, before they are used. */
  onSecret(value: string): void;
  /** Tells an event of the feed. */
  tell(event: ConnectorEvent): void;
}

interface Servers {
  servers: Readonly<Record<string, McpServer>>;
  /** For the agent's instructions. */
  note: string | undefined;
}
const NONE: Servers = Object.freeze({ servers: Object.freeze({}), note: undefined });

const noteOn = (ids: readonly string[]) =>
  `These connectors did not start, so you do not have their tools: ${ids.join(", ")}. Say so if one is needed.`;
const unusable = (error: string): Found => ({ ok: false, tools: [], error });

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

  const look = once(async () => (await import("./connect.ts")).lookAt);
  const health = once(async () => {
    const { createServerHealth } = await import("./health.ts");
    return createServerHealth({
      ...deps,
      look: async ({ server, cwd, secrets }) => (await look())(server, { cwd, secrets }, deps),
    });
  });
  /** Undefined for one that is not connected, or has no usable address. */
  const candidateOf = (connector: Registered, file: Variables, cwd: string): Candidate | undefined => {
    if (!isConnected(connector, file)) return undefined;
    const secrets = [...secretsOf(connector, file).values()];
    for (const value of secrets) onSecret(value);
    const server = serverOf(connector, file);
    if (server) return { id: connector.id, server, cwd, secrets };
    log.warn({ connector: connector.id }, "connector is left out: its url is not an http(s) address");
    return undefined;
  };

  return {
    /**
     * Connects to a connector as a session would.
     * @throws {GatewayError} `NOT_FOUND`
     */
    async test(id: string): Promise<Found> {
      (await manage()).require(id);
      const file = await tokens.read();
      const connector = registry().get(id);
      if (!connector || !isConnected(connector, file)) return unusable("The connector is not connected.");
      const agent = config.current.agents.find((one) => enabledFor(one, id));
      if (agent) await makeFolder(agent.workspace);
      const candidate = candidateOf(connector, file, agent?.workspace ?? deps.home);
      if (!candidate) return unusable("The connector's url is not an http(s) address.");
      return (await health()).test(candidate);
    },
    /** What the routes do, loaded by the first request. */
    manage,
    tokens,
    /**
     * The tool servers of this agent, with their secrets, and what it is to know of those that do not start. A new
     * process waits for a look at servers that nothing is known about yet. Never rejects.
     */
    async serversFor(agent: AgentConfig, runtime: string | undefined, starting: boolean): Promise<Servers> {
      const wanted = [...registry().values()].filter(
        ({ id, entry }) => entry && mayUse(agent.allowTools, id) && enabledFor(agent, id),
      );
      // That one has no tools.
      if (wanted.length === 0 || runtime === "starter") return NONE;
      const now = await tokens.read();
      const candidates = wanted.flatMap((connector) => candidateOf(connector, now, agent.workspace) ?? []);
      const { starts, seemsFine } = await health();
      const fine = await Promise.all(
        candidates.map((candidate) => (starting ? starts(candidate) : seemsFine(candidate))),
      );
      const left = candidates.filter((_, index) => !fine[index]);
      return {
        servers: Object.fromEntries(
          candidates.filter((_, index) => fine[index]).map(({ id, server }) => [id, server]),
        ),
        note: left.length === 0 ? undefined : noteOn(left.map(({ id }) => id)),
      };
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
