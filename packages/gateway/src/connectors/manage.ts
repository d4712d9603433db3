import {
  type AddConnector,
  type ConnectConnector,
  type ConnectorRecord,
  GatewayError,
  type ReceiveConnector,
  type UpdateConnector,
} from "@agent-gateway/contract";
import { type ConfigStore, hasVariable } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import { isRecord } from "../lib/is-record.ts";
import { createMutex } from "../lib/mutex.ts";
import { readEntry } from "./entry.ts";
import { bookKey, refreshState } from "./oauth/index.ts";
import {
  type CredentialOwner,
  isConnected,
  isConnectorId,
  missingOf,
  ownerOf,
  type Registered,
  type Registry,
} from "./registry.ts";
import { secretKey, type TokenFile, variablesOf, without } from "./token-file.ts";

type Raw = Record<string, unknown>;
/** The one placeholder of connectors whose token comes from a sign-in. */
const ACCESS_TOKEN = "access_token";
const MAX_ID = 64;

export interface ManagerDeps {
  config: ConfigStore;
  registry: Registry;
  tokens: TokenFile;
  clock: Clock;
}

const refuse = (path: string, message: string) =>
  new GatewayError("INVALID_REQUEST", undefined, { details: [{ path, message }] });

/** What the routes do with the owner's connectors. Changes run one after another. */
export function createManager({ config, registry, tokens, clock }: ManagerDeps) {
  const inTurn = createMutex();

  const require = (id: string): Registered => {
    const found = registry().get(id);
    if (!found) throw new GatewayError("NOT_FOUND", "No connector has this id.");
    return found;
  };
  const connectedNow = async (id: string): Promise<boolean> => {
    const found = registry().get(id);
    return found !== undefined && isConnected(found, await tokens.read());
  };
  const status = async (id: string) => {
    const found = require(id);
    const file = await tokens.read();
    const refresh = refreshState(file[bookKey(id)], clock.now());
    return { id, connected: isConnected(found, file), ...(refresh && { refresh }) };
  };
  /** Removes variables of a connector. */
  const forget = (id: string, which: (name: string) => boolean = () => true) =>
    tokens.edit((file) => {
      const names = variablesOf(id, file).filter(which);
      return names.length > 0 ? without(names) : undefined;
    });
  const dropTokens = (id: string) =>
    forget(id, (name) => name === secretKey(id, ACCESS_TOKEN) || name.startsWith("CUSTOMINT__"));

  return {
    /** @throws {GatewayError} `NOT_FOUND` */
    require: (id: string) => void require(id),
    status,

    async list(): Promise<ConnectorRecord[]> {
      const file = await tokens.read();
      return [...registry().values()].map((one) => {
        const { id, settings, entry } = one;
        const refresh = refreshState(file[bookKey(id)], clock.now());
        return {
          id,
          label: settings.label || id,
          description: settings.description ?? "",
          credentialOwner: ownerOf(one),
          connected: isConnected(one, file),
          secretNames: [...(entry?.placeholders ?? [])],
          missing: missingOf(one, file),
          ...(settings.defaultEnabled !== undefined && { defaultEnabled: settings.defaultEnabled }),
          ...(refresh && { refresh }),
        };
      });
    },

    /** @throws {GatewayError} `INVALID_REQUEST`; nothing is saved then */
    add: ({ secrets = {}, oauth, ...input }: AddConnector) =>
      inTurn(async () => {
        refuseVariables(input);
        const placeholders = judgeConfig(input.config);
        const strange = Object.keys(secrets).find((name) => !placeholders.has(name));
        if (strange !== undefined) throw refuse(`secrets.${strange}`, "is no placeholder of config");
        if (oauth) {
          judgeOwned("gateway", input.config, placeholders);
          if (ACCESS_TOKEN in secrets)
            throw refuse(`secrets.${ACCESS_TOKEN}`, "comes from the sign-in, so it cannot be given");
        }
        let id = "";
        try {
          await config.update(async (raw) => {
            const entries = entriesOf(raw);
            id = freeId(input.label, entries);
            // Whatever an earlier connector of this id has left is not for this one.
            await tokens.edit((file) => ({
              ...without(variablesOf(id, file)),
              ...Object.fromEntries(
                Object.entries(secrets).map(([name, value]) => [secretKey(id, name), value]),
              ),
            }));
            entries[id] = rowOf(input, [...placeholders], oauth ? "gateway" : undefined);
          });
        } catch (error) {
          if (id !== "" && !registry().has(id)) await forget(id).catch(() => {});
          throw error;
        }
        return { id, label: input.label, connected: await connectedNow(id) };
      }),

    /** @throws {GatewayError} `NOT_FOUND`, `INVALID_REQUEST` */
    update: (id: string, patch: UpdateConnector) =>
      inTurn(async () => {
        const before = require(id);
        refuseVariables(patch);
        const owner = ownerOf(before);
        const placeholders = patch.config && judgeConfig(patch.config);
        if (placeholders) judgeOwned(owner, patch.config!, placeholders);
        await config.update(async (raw) => {
          const entry = existing(raw, id);
          const old = isRecord(entry.config) ? entry.config.url : undefined;
          // The new address must never get a token that was meant for the old one.
          if (owner === "gateway" && patch.config && patch.config.url !== old) await dropTokens(id);
          Object.assign(entry, patch);
          if (placeholders) Object.assign(entry, derived([...placeholders], owner));
        });
        if (placeholders) {
          const kept = new Set([...placeholders].map((name) => secretKey(id, name)));
          await forget(id, (name) => name.startsWith(secretKey(id, "")) && !kept.has(name));
        }
        return status(id);
      }),

    /** @throws {GatewayError} `NOT_FOUND`, `INVALID_REQUEST` */
    connect: (id: string, input: ConnectConnector) =>
      inTurn(async () => {
        await tokens.edit(() => {
          const found = require(id);
          const owner = ownerOf(found);
          if (owner !== "static") throw new GatewayError("INVALID_REQUEST", NOT_STATIC[owner]);
          const names = [...(found.entry?.placeholders ?? [])];
          if (input.token !== undefined && names.length !== 1) {
            throw refuse("token", `the connector needs ${names.length} secrets; give them as secrets`);
          }
          const given = input.token === undefined ? (input.secrets ?? {}) : { [names[0]!]: input.token };
          const strange = Object.keys(given).find((name) => !names.includes(name));
          if (strange !== undefined) throw refuse(`secrets.${strange}`, "is no placeholder of the connector");
          return Object.fromEntries(
            Object.entries(given).map(([name, value]) => [secretKey(id, name), value]),
          );
        });
        return { id, connected: await connectedNow(id) };
      }),

    /** @throws {GatewayError} `INVALID_REQUEST`, `CONFLICT` for the id of a connector of another kind */
    receive: (id: string, { access_token: token, ...input }: ReceiveConnector) =>
      inTurn(async () => {
        if (!isConnectorId(id))
          throw refuse("id", "is not the id of a connector, or one of the gateway's own");
        refuseVariables(input);
        const placeholders = judgeConfig(input.config);
        judgeOwned("external", input.config, placeholders);
        const other = registry().get(id);
        if (other && ownerOf(other) !== "external") {
          throw new GatewayError("CONFLICT", "Another connector has this id; remove it first.");
        }
        await config.update(async (raw) => {
          // Neither address gets the other's token.
          await forget(id);
          entriesOf(raw)[id] = rowOf(input, [...placeholders], "external");
        });
        await tokens.edit(() => (registry().has(id) ? { [secretKey(id, ACCESS_TOKEN)]: token } : undefined));
        return { id, connected: await connectedNow(id) };
      }),

    /** @throws {GatewayError} `NOT_FOUND` */
    remove: (id: string, whole: boolean) =>
      inTurn(async () => {
        const owner = ownerOf(require(id));
        if (!whole && owner === "static") await forget(id);
        else if (!whole && owner === "gateway") await dropTokens(id);
        else {
          await config.update((raw) => {
            existing(raw, id);
            delete entriesOf(raw)[id];
            for (const agent of Array.isArray(raw.agents) ? (raw.agents as unknown[]) : []) {
              if (isRecord(agent) && isRecord(agent.connectors)) delete agent.connectors[id];
            }
          });
          await forget(id);
        }
        return { id, connected: false };
      }),
  };
}
export type Manager = ReturnType<typeof createManager>;

const NOT_STATIC: Record<Exclude<CredentialOwner, "static">, string> = {
  none: "This connector needs no secrets.",
  gateway: "The gateway signs in to this connector by itself; start a sign-in instead.",
  external: "Another program holds the token of this connector.",
};

/**
 * The placeholders of a configuration.
 * @throws {GatewayError} `INVALID_REQUEST`
 */
function judgeConfig(config: Raw): ReadonlySet<string> {
  const entry = readEntry(config);
  if (typeof entry === "string") throw refuse("config", entry);
  const { url } = config;
  // A placeholder may stand for all of it.
  if (typeof url === "string" && !url.startsWith("{") && !isWebAddress(url.replace(/\{\w+\}/g, "1"))) {
    throw refuse("config.url", "must be an http(s) address");
  }
  return entry.placeholders;
}

const isWebAddress = (url: string) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

/** Refuses a configuration that does not fit who holds the secrets. */
function judgeOwned(owner: CredentialOwner, config: Raw, placeholders: ReadonlySet<string>): void {
  if (owner !== "gateway" && owner !== "external") return;
  if (!placeholders.has(ACCESS_TOKEN)) throw refuse("config", `must contain {${ACCESS_TOKEN}}`);
  if (owner === "gateway" && typeof config.url !== "string")
    throw refuse("config", "needs a url, because the gateway signs in there");
  if (owner === "external" && placeholders.size > 1)
    throw refuse("config", `must contain no other placeholder than {${ACCESS_TOKEN}}`);
}

/** These are shown to everyone with a key, so a variable's value must not get into them. */
function refuseVariables(input: { label?: string | undefined; description?: string | undefined }): void {
  for (const path of ["label", "description"] as const) {
    if (input[path] !== undefined && hasVariable(input[path]))
      throw refuse(path, "must not refer to a variable");
  }
}

/** The entries in the file's JSON; created if missing. */
function entriesOf(raw: Raw): Raw {
  if (!isRecord(raw.gateway)) raw.gateway = {};
  const gateway = raw.gateway as Raw;
  if (!isRecord(gateway.customConnectors)) gateway.customConnectors = {};
  return gateway.customConnectors as Raw;
}

function existing(raw: Raw, id: string): Raw {
  const entry = entriesOf(raw)[id];
  if (!isRecord(entry)) throw new GatewayError("CONFLICT", "The connector's entry cannot be changed here.");
  return entry;
}

const derived = (secretNames: readonly string[], owner: CredentialOwner | undefined): Raw => ({
  secretNames,
  credentialOwner:
    owner === "gateway" || owner === "external" ? owner : secretNames.length === 0 ? "none" : "static",
});

function rowOf(
  input: Pick<AddConnector, "label" | "config" | "description" | "defaultEnabled">,
  secretNames: readonly string[],
  owner: CredentialOwner | undefined,
): Raw {
  const { label, config, description, defaultEnabled } = input;
  return {
    label,
    ...(description !== undefined && { description }),
    config,
    ...derived(secretNames, owner),
    ...(defaultEnabled !== undefined && { defaultEnabled }),
  };
}

/** The label as an id, numbered when it is taken; ids of the gateway's own count as taken. */
function freeId(label: string, entries: Raw): string {
  const slug = label
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_ID + 1)
    .replace(/^-/, "")
    .slice(0, MAX_ID)
    .replace(/-$/, "");
  const base = slug || "connector";
  for (let count = 1; ; count++) {
    const end = count === 1 ? "" : `-${count}`;
    const id = base.slice(0, MAX_ID - end.length).replace(/-$/, "") + end;
    if (!Object.hasOwn(entries, id) && isConnectorId(id)) return id;
  }
}
