import { isRecord } from "../lib/is-record.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import type { Variables } from "./dotenv.ts";
import { interpolate, type Sources } from "./interpolate.ts";
import type { Raw } from "./parse.ts";
import type { Env } from "./paths.ts";
import { error, type Problem, schemaProblems, warning } from "./problems.ts";
import { type GatewaySection, gatewaySection } from "./schema.ts";
import { checkSelfHealing } from "./schema-healing.ts";
import { NOT_POSTGRES_URL } from "./schema-store.ts";
import { withStoreUrl } from "./store-settings.ts";
import { isTimezone, ownTimezones, withTimezones } from "./timezone.ts";
import type { Paths } from "./types.ts";

/** Sources for the variables in the file. */
export interface LoadInput {
  paths: Paths;
  env: Env;
  /** Variables of `$GATEWAY_HOME/.env`. */
  homeEnv: Variables;
  /** Variables of the agents' own files, by agent id. */
  agentEnv: ReadonlyMap<string, Variables>;
}

/** No known text has this hash: such a key counts as configured, so that nothing opens up, but never matches. */
export const DEAD_KEY_HASH = `sha256:${"0".repeat(64)}`;
/** True for the placeholder of a disabled key, for example one whose variable is missing. */
export const isDeadKey = (entry: { keyHash?: string | undefined }): boolean =>
  entry.keyHash === DEAD_KEY_HASH;

/** An admin can create, change and delete every agent, so a list of agents would limit nothing. */
function isLimitedAdmin(entry: unknown): boolean {
  return (
    isRecord(entry) && entry.admin === true && Array.isArray(entry.agents) && !entry.agents.includes("*")
  );
}

function loadKeys(rawKeys: unknown, sources: Sources, problems: Problem[]): unknown {
  if (!Array.isArray(rawKeys)) return rawKeys;
  return rawKeys.map((rawEntry: unknown, index) => {
    const { value, missing } = interpolate(rawEntry, sources);
    const empty = isRecord(rawEntry) && rawEntry.key !== "" && isRecord(value) && value.key === "";
    if (!isRecord(rawEntry)) return value;
    const path = `gateway.api.keys.${index}`;
    const { description, admin } = rawEntry;
    const off = { keyHash: DEAD_KEY_HASH, agents: [], description, admin };
    if (missing.length > 0 || empty) {
      const why = missing[0] ? `the variable ${missing[0].name} is not set` : "its variable is empty";
      problems.push(warning(path, `${why}, so this key cannot be used`));
      return off;
    }
    if (!isLimitedAdmin(value)) return value;
    problems.push(
      error(
        path,
        'an admin key reaches every agent, so this key, which has both admin: true and a list of agents, is switched off; set agents to "*" or remove admin',
      ),
    );
    return off;
  });
}

/** Two keys with one id would see what the other used; the later one is known by its hash. */
function dropRepeatedIds(keys: readonly unknown[], problems: Problem[]): void {
  const ids = new Set<unknown>();
  for (const [index, entry] of keys.entries()) {
    if (!isRecord(entry) || entry.id === undefined) continue;
    if (ids.has(entry.id)) {
      delete entry.id;
      problems.push(warning(`gateway.api.keys.${index}.id`, "another key has this id; it is ignored"));
    } else ids.add(entry.id);
  }
}

function checkUrls(gateway: {
  publicUrl?: string | undefined;
  oauthReturnUrl?: string | undefined;
}): Problem[] {
  const problems: Problem[] = [];
  const refuse = (key: "publicUrl" | "oauthReturnUrl", message: string) => {
    problems.push(warning(`gateway.${key}`, `${message}; it is ignored`));
    delete gateway[key];
  };
  if (gateway.publicUrl !== undefined) {
    const url = URL.canParse(gateway.publicUrl) ? new URL(gateway.publicUrl) : null;
    const local = url !== null && isLoopbackHost(url.hostname.replace(/^\[|\]$/g, ""));
    if (!url || !/^https?:$/.test(url.protocol)) refuse("publicUrl", "is not an http(s) URL");
    else if (!/\/gateway$/.test(url.pathname) || url.search || url.hash)
      refuse("publicUrl", "must end in /gateway");
    else if (url.protocol === "http:" && !local)
      refuse("publicUrl", "must be https unless its host is local");
  }
  if (gateway.oauthReturnUrl !== undefined) {
    const url = URL.canParse(gateway.oauthReturnUrl) ? new URL(gateway.oauthReturnUrl) : null;
    if (!url || !/^https?:$/.test(url.protocol)) refuse("oauthReturnUrl", "is not an http(s) URL");
  }
  return problems;
}

function checkTimezones(raw: Raw, gateway: Parameters<typeof ownTimezones>[0]): Problem[] {
  const named = { timezone: gateway.timezone, ...ownTimezones(gateway) };
  return Object.entries(named).flatMap(([key, used]) => {
    const written = key.split(".").reduce<unknown>((at, part) => (isRecord(at) ? at[part] : undefined), raw);
    const fallback = key === "timezone" ? "UTC" : "gateway.timezone";
    return written === undefined || isTimezone(used)
      ? []
      : [warning(`gateway.${key}`, `is not a known time zone; using ${fallback}`)];
  });
}

function applyEnvironment(gateway: GatewaySection, env: Env): Problem[] {
  if (env.GATEWAY_BIND) gateway.bind = env.GATEWAY_BIND;
  if (!env.PORT) return [];
  const port = Number(env.PORT);
  if (!/^\d{1,5}$/.test(env.PORT) || port > 65_535) {
    return [warning("", "PORT in the environment is not a port number; it is ignored")];
  }
  gateway.port = port;
  return [];
}

/** Reads the `gateway` section; null if it is broken. */
export function loadGateway(
  rawGateway: unknown,
  input: LoadInput,
): { gateway: GatewaySection | null; problems: Problem[] } {
  const problems: Problem[] = [];
  const sources: Sources = [input.env, input.homeEnv];
  if (!isRecord(rawGateway)) return { gateway: null, problems: [error("gateway", "must be an object")] };
  const api = isRecord(rawGateway.api) ? rawGateway.api : {};
  const { value, missing } = interpolate({ ...rawGateway, api: { ...api, keys: [] } }, sources);
  for (const { name, path } of missing) {
    problems.push(warning(`gateway.${path}`, `the variable ${name} is not set, so this value is left out`));
  }
  const resolved = value as Raw;
  if (rawGateway.api === undefined) delete resolved.api;
  else if (!isRecord(rawGateway.api)) resolved.api = rawGateway.api;
  else {
    const keys = loadKeys(rawGateway.api.keys, sources, problems);
    if (Array.isArray(keys)) dropRepeatedIds(keys, problems);
    resolved.api = { ...(resolved.api as Raw), keys };
  }
  const store = withStoreUrl(resolved.store, input.env);
  if (store === undefined && input.env.GATEWAY_STORE_URL) {
    const wrong = error("", `GATEWAY_STORE_URL in the environment ${NOT_POSTGRES_URL}`);
    return { gateway: null, problems: [...problems, wrong] };
  }
  if (store !== undefined) resolved.store = store;
  const parsed = gatewaySection.safeParse(resolved);
  if (!parsed.success)
    return { gateway: null, problems: [...problems, ...schemaProblems(parsed.error, "gateway")] };
  problems.push(
    ...checkUrls(parsed.data),
    ...checkTimezones(resolved, parsed.data),
    ...checkSelfHealing(resolved.selfHealing),
  );
  const gateway = withTimezones(parsed.data);
  problems.push(...applyEnvironment(gateway, input.env));
  return { gateway, problems };
}
