import { isAbsolute, join, resolve } from "node:path";
import { AGENT_ID } from "@agent-gateway/contract";
import { isLoopbackHost } from "../lib/loopback.ts";
import { isSecretName } from "../lib/secret-names.ts";
import type { Variables } from "./dotenv.ts";
import { interpolate, type Sources } from "./interpolate.ts";
import { unknownKeys } from "./introspect.ts";
import { type Env, expandHome } from "./paths.ts";
import { error, type Problem, schemaProblems, warning } from "./problems.ts";
import {
  type AgentConfig,
  agentEntry,
  CONFIG_VERSION,
  type Config,
  configFile,
  type GatewaySection,
  gatewaySection,
  sessionSection,
} from "./schema.ts";
import { firstTimezone, isTimezone, ownTimezones, withTimezones } from "./timezone.ts";
import type { Paths } from "./types.ts";

type Raw = Record<string, unknown>;

/** What the file is read against. */
export interface LoadInput {
  paths: Paths;
  env: Env;
  /** Variables of `$GATEWAY_HOME/.env`. */
  homeEnv: Variables;
  /** Variables of the agents' own files, by agent id. */
  agentEnv: ReadonlyMap<string, Variables>;
}

/** A configuration that can run, and what is wrong with the rest of the file. */
export interface Loaded {
  config: Config;
  problems: Problem[];
  /** Why agents were left out or, on a reload, stay as they were: agent id (or `#index`) → problems. */
  skipped: Map<string, Problem[]>;
  /** Values that must not show up in a log. */
  secrets: Set<string>;
}

/** Nobody knows a text with this hash: a key with it counts as configured, so that nothing opens, and never fits. */
const DEAD_KEY_HASH = `sha256:${"0".repeat(64)}`;
/** True for a key that stands for one whose variable is missing. */
export const isDeadKey = (entry: { keyHash?: string | undefined }): boolean =>
  entry.keyHash === DEAD_KEY_HASH;

export const isRecord = (value: unknown): value is Raw =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What JSON.parse says, with a line number and without the quoted piece of the file, which may hold a secret. */
function syntaxProblem(message: string, text: string): string {
  const [what = message] = message.split(/, (?=\.{3}"|")| in JSON/);
  const known = /line \d+/.exec(message)?.[0];
  // V8 quotes ten characters on either side of the place.
  const quoted = /(\.{3})?"(.*?)"(?:\.{3})? is not valid JSON$/s.exec(message);
  const start = quoted ? text.indexOf(quoted[2]!) : -1;
  const before = start === -1 ? null : text.slice(0, start + (quoted?.[1] ? 10 : 0));
  const where = known ?? (before === null ? null : `near line ${before.split("\n").length}`);
  return `the file is not valid JSON: ${what}${where ? ` (${where})` : ""}`;
}

/** Parses the file's text. */
export function parseConfig(text: string): { raw: Raw } | { problems: Problem[] } {
  try {
    const raw: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
    return isRecord(raw) ? { raw } : { problems: [error("", "the file must hold one JSON object")] };
  } catch (failure) {
    return { problems: [error("", syntaxProblem((failure as Error).message, text))] };
  }
}

/** Ids of the agents whose own `.env` the file needs. */
export function agentIds(raw: Raw): string[] {
  if (!Array.isArray(raw.agents)) return [];
  const ids = raw.agents.map((entry) => (isRecord(entry) ? entry.id : null));
  return ids.filter((id): id is string => typeof id === "string" && AGENT_ID.test(id));
}

/** Collects values that look secret: by the name of their key. */
function collectSecrets(value: unknown, into: Set<string>, depth = 0): void {
  if (typeof value !== "object" || value === null || depth > 16) return;
  for (const [name, child] of Object.entries(value)) {
    if (typeof child === "string" && isSecretName(name)) into.add(child);
    else collectSecrets(child, into, depth + 1);
  }
}

function loadKeys(rawKeys: unknown, sources: Sources, problems: Problem[]): unknown {
  if (!Array.isArray(rawKeys)) return rawKeys;
  return rawKeys.map((rawEntry: unknown, index) => {
    const { value, missing } = interpolate(rawEntry, sources);
    const empty = isRecord(rawEntry) && rawEntry.key !== "" && isRecord(value) && value.key === "";
    if ((missing.length === 0 && !empty) || !isRecord(rawEntry)) return value;
    const why = missing[0] ? `the variable ${missing[0].name} is not set` : "its variable is empty";
    problems.push(warning(`gateway.api.keys.${index}`, `${why}, so this key cannot be used`));
    return { keyHash: DEAD_KEY_HASH, agents: [], description: rawEntry.description, admin: rawEntry.admin };
  });
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
      : [warning(`gateway.${key}`, `is not a known time zone; ${fallback} is used`)];
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

function loadGateway(
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
    resolved.api = { ...(resolved.api as Raw), keys };
  }
  const parsed = gatewaySection.safeParse(resolved);
  if (!parsed.success)
    return { gateway: null, problems: [...problems, ...schemaProblems(parsed.error, "gateway")] };
  problems.push(...checkUrls(parsed.data), ...checkTimezones(resolved, parsed.data));
  const gateway = withTimezones(parsed.data);
  problems.push(...applyEnvironment(gateway, input.env));
  return { gateway, problems };
}

/** `base` with what `over` says. */
function overlay<T extends object>(base: T, over: { [K in keyof T]?: T[K] | undefined }): T {
  const said = Object.entries(over).filter(([, value]) => value !== undefined);
  return { ...base, ...Object.fromEntries(said) };
}

function loadAgent(
  rawEntry: unknown,
  path: string,
  base: Pick<Config, "gateway" | "session">,
  input: LoadInput,
): { id: string | null; agent: AgentConfig } | { id: string | null; problems: Problem[] } {
  const id = isRecord(rawEntry) && typeof rawEntry.id === "string" ? rawEntry.id : null;
  const own = input.agentEnv.get(id ?? "") ?? {};
  const { value, missing } = interpolate(rawEntry, [input.env, own, input.homeEnv]);
  if (missing.length > 0) {
    const problems = missing.map((gap) =>
      error(`${path}.${gap.path}`, `the variable ${gap.name} is not set, so the agent is left out`),
    );
    return { id, problems };
  }
  const parsed = agentEntry.safeParse(value);
  if (!parsed.success) return { id, problems: schemaProblems(parsed.error, path) };
  const { name, workspace, history, session, ...rest } = parsed.data;
  const { gateway } = base;
  const folder = expandHome(workspace ?? join(input.paths.agentDir(rest.id), "workspace"), input.env);
  const zone = firstTimezone(history.cleanupTimezone, gateway.history.cleanupTimezone);
  const agent: AgentConfig = {
    ...rest,
    name: name ?? rest.id,
    workspace: isAbsolute(folder) ? folder : resolve(input.paths.home, folder),
    history: { ...overlay(gateway.history, history), cleanupTimezone: zone },
    session: overlay(base.session, session),
  };
  return { id: rest.id, agent };
}

/**
 * Turns the (migrated) JSON of the file into a configuration. Bad agents are left out, unknown keys are warnings;
 * when the gateway's own part is broken there is no configuration, only problems.
 */
export function loadConfig(raw: Raw, input: LoadInput): Loaded | { config: null; problems: Problem[] } {
  const problems = unknownKeys(configFile, raw).map((path) =>
    warning(path, "is not a key that the gateway knows"),
  );
  const loaded = loadGateway(raw.gateway ?? {}, input);
  problems.push(...loaded.problems);
  const session = sessionSection.safeParse(raw.session ?? {});
  if (!session.success) problems.push(...schemaProblems(session.error, "session"));
  const entries = raw.agents ?? [];
  if (!Array.isArray(entries)) problems.push(error("agents", "must be a list"));
  if (!loaded.gateway || !session.success || !Array.isArray(entries)) return { config: null, problems };

  const base = { gateway: loaded.gateway, session: session.data };
  const agents = new Map<string, AgentConfig>();
  const skipped = new Map<string, Problem[]>();
  entries.forEach((entry: unknown, index) => {
    const path = `agents.${index}`;
    const result = loadAgent(entry, path, base, input);
    let wrong = "problems" in result ? result.problems : [];
    if ("agent" in result && agents.has(result.agent.id)) {
      wrong = [
        error(`${path}.id`, `another agent is already called ${result.agent.id}, so this one is left out`),
      ];
    }
    const named = result.id !== null && !agents.has(result.id) && !skipped.has(result.id);
    if (wrong.length > 0) skipped.set(named ? result.id! : `#${index}`, wrong);
    else if ("agent" in result) agents.set(result.agent.id, result.agent);
  });
  problems.push(...[...skipped.values()].flat());

  const config: Config = {
    configVersion: typeof raw.configVersion === "string" ? raw.configVersion : CONFIG_VERSION,
    ...base,
    agents: [...agents.values()],
  };
  const secrets = new Set([
    ...Object.values(input.homeEnv),
    ...[...input.agentEnv.values()].flatMap(Object.values),
  ]);
  collectSecrets(config, secrets);
  secrets.delete(DEAD_KEY_HASH);
  return { config, problems, skipped, secrets };
}
