import { CHANNEL_NAMES } from "@agent-gateway/contract";
import type { AgentConfig, Config } from "../config/index.ts";
import type { Logger } from "../lib/logger.ts";
import type { McpServer } from "../runtimes/index.ts";
import { type Entry, readEntry } from "./entry.ts";
import { createTokenFile, secretKey } from "./token-file.ts";

export { createOAuth, type OAuth, type OAuthDeps, type Outcome } from "./oauth/index.ts";
export { createTokenFile } from "./token-file.ts";

export interface ConnectorDeps {
  config: () => Config;
  /** File with the secrets. */
  secretsFile: string;
  /** Gets the values that must not appear in logs, before they are used. */
  onSecret(value: string): void;
  log: Logger;
}

export interface Connectors {
  /** The tool servers that a new process of this agent gets, with their secrets. Never rejects. */
  serversFor(agent: AgentConfig): Promise<Readonly<Record<string, McpServer>>>;
}

/** Names of tool servers, or of places, of the gateway's own. */
const RESERVED = new Set<string>(["gateway", ...CHANNEL_NAMES]);
const NONE: Readonly<Record<string, McpServer>> = Object.freeze({});

/**
 * The owner's connectors: MCP servers for agents. One is connected when the file of secrets has a value for each of its
 * placeholders (`CUSTOM__<connector>__<placeholder>`).
 */
export function createConnectors({ config, secretsFile, onSecret, log }: ConnectorDeps): Connectors {
  const tokens = createTokenFile(secretsFile);
  let source: unknown;
  let entries = new Map<string, Entry>();

  const refresh = () => {
    const configured = config().gateway.customConnectors;
    if (configured === source) return;
    source = configured;
    entries = new Map();
    for (const [id, connector] of Object.entries(configured)) {
      const entry = RESERVED.has(id)
        ? "has a name that the gateway itself uses"
        : readEntry(connector.config);
      if (typeof entry === "string") log.warn({ connector: id }, `connector is left out: it ${entry}`);
      else entries.set(id, entry);
    }
  };

  const enabledFor = (agent: AgentConfig, id: string): boolean => {
    const { customConnectors, connectorsDefaultEnabled } = config().gateway;
    const own = agent.connectors?.[id]?.enabled;
    if (own !== undefined) return own;
    return customConnectors[id]?.defaultEnabled === false ? false : connectorsDefaultEnabled;
  };

  return {
    async serversFor(agent) {
      refresh();
      const wanted = [...entries].filter(([id]) => mayUse(agent.allowTools, id) && enabledFor(agent, id));
      if (wanted.length === 0) return NONE;
      const file = await tokens.read();
      const servers: Record<string, McpServer> = {};
      for (const [id, entry] of wanted) {
        const secrets = new Map<string, string>();
        for (const name of entry.placeholders) {
          const value = file[secretKey(id, name)];
          if (value) secrets.set(name, value);
        }
        if (secrets.size < entry.placeholders.size) continue;
        for (const value of secrets.values()) onSecret(value);
        const server = entry.fill(secrets);
        if (server) servers[id] = server;
        else log.warn({ connector: id }, "connector is left out: its url is not an http(s) address");
      }
      return servers;
    },
  };
}

/** A list names the connectors' tools as `mcp__<connector>` or `mcp__<connector>__<tool>`. */
function mayUse(allowTools: boolean | readonly string[], id: string): boolean {
  if (typeof allowTools === "boolean") return allowTools;
  return allowTools.some((name) => name === `mcp__${id}` || name.startsWith(`mcp__${id}__`));
}
