import { CHANNEL_NAMES, CONNECTOR_ID } from "@agent-gateway/contract";
import type { Config, Variables } from "../config/index.ts";
import type { Logger } from "../lib/logger.ts";
import type { McpServer } from "../runtimes/index.ts";
import { type Entry, readEntry } from "./entry.ts";
import { ACCESS, bookKey, isForeign } from "./oauth/index.ts";
import { secretKey } from "./token-file.ts";

type Settings = Config["gateway"]["customConnectors"][string];
/** Who holds the secrets: nobody, the owner, the gateway by its own sign-in, another program. */
export type CredentialOwner = "none" | "static" | "gateway" | "external";

/** A connector of the configuration. */
export interface Registered {
  readonly id: string;
  readonly settings: Settings;
  /** Undefined while its configuration cannot be used. */
  readonly entry: Entry | undefined;
}

/** Names of tool servers, or of places, of the gateway's own. */
const RESERVED = new Set<string>(["gateway", ...CHANNEL_NAMES]);

/** True for what may be the id of a connector. */
export const isConnectorId = (id: string): boolean => CONNECTOR_ID.test(id) && !RESERVED.has(id);

/** The connectors of the configuration as it is at each call. Tells once in the log what cannot be used. */
export function createRegistry({ config, log }: { config: () => Config; log: Logger }) {
  let source: unknown;
  let known: ReadonlyMap<string, Registered> = new Map();

  const read = (id: string, settings: Settings): Registered => {
    const entry = readEntry(settings.config);
    if (typeof entry !== "string") return { id, settings, entry };
    log.warn({ connector: id }, `connector is left out: it ${entry}`);
    return { id, settings, entry: undefined };
  };
  return (): ReadonlyMap<string, Registered> => {
    const configured = config().gateway.customConnectors;
    if (configured === source) return known;
    source = configured;
    const ids = Object.keys(configured).filter((id) => {
      if (isConnectorId(id)) return true;
      const reason = RESERVED.has(id) ? "a name that the gateway itself uses" : "an id of another form";
      log.warn({ connector: id }, `connector is left out: it has ${reason}`);
      return false;
    });
    known = new Map(ids.map((id) => [id, read(id, configured[id]!)]));
    return known;
  };
}
export type Registry = ReturnType<typeof createRegistry>;

/** Who holds the secrets; the placeholders decide, unless the gateway or another program does. */
export function ownerOf({ settings, entry }: Registered): CredentialOwner {
  const { credentialOwner } = settings;
  if (credentialOwner === "gateway" || credentialOwner === "external") return credentialOwner;
  if (!entry) return credentialOwner ?? "none";
  return entry.placeholders.size === 0 ? "none" : "static";
}

/**
 * Its secrets that the file has, by placeholder. A token of a sign-in at another address is none: the file may still have
 * it when the address has just changed.
 */
export function secretsOf({ id, entry, settings }: Registered, file: Variables): Map<string, string> {
  const foreign =
    settings.credentialOwner === "gateway" && isForeign(file[bookKey(id)], settings.config?.url);
  const names = [...(entry?.placeholders ?? [])].filter((name) => !(foreign && name === ACCESS));
  const found = names.map((name) => [name, file[secretKey(id, name)]] as const);
  return new Map(found.filter((pair): pair is readonly [string, string] => Boolean(pair[1])));
}

/** Its placeholders without a secret. */
export function missingOf(connector: Registered, file: Variables): string[] {
  const secrets = secretsOf(connector, file);
  return [...(connector.entry?.placeholders ?? [])].filter((name) => !secrets.has(name));
}

/** True when every placeholder has a secret. */
export const isConnected = (connector: Registered, file: Variables): boolean =>
  connector.entry !== undefined && missingOf(connector, file).length === 0;

/** The server with its secrets in place; undefined when its address is none then. */
export const serverOf = (connector: Registered, file: Variables): McpServer | undefined =>
  connector.entry?.fill(secretsOf(connector, file));
