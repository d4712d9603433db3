import { isAbsolute, join, resolve } from "node:path";
import { AGENT_ID } from "@agent-gateway/contract";
import { isRecord } from "../lib/is-record.ts";
import { isSecretName } from "../lib/secret-names.ts";
import { interpolate } from "./interpolate.ts";
import { unknownKeys } from "./introspect.ts";
import { type LoadInput, loadGateway } from "./load-gateway.ts";
import type { Raw } from "./parse.ts";
import { expandHome } from "./paths.ts";
import { error, type Problem, schemaProblems, skipping, warning } from "./problems.ts";
import {
  type AgentConfig,
  agentEntry,
  CONFIG_VERSION,
  type Config,
  configFile,
  sessionSection,
} from "./schema.ts";
import { firstTimezone } from "./timezone.ts";

/** A usable configuration, and the problems in the rest of the file. */
export interface Loaded {
  config: Config;
  problems: Problem[];
  /** Why agents were skipped or, on a reload, kept as they were: agent id (or `#index`) → problems. */
  skipped: Map<string, Problem[]>;
  /** Values that must not appear in logs. */
  secrets: Set<string>;
}

/** Collects values that look secret, judging by the name of their key. */
export function collectSecrets(value: unknown, into: Set<string>, depth = 0): void {
  if (typeof value !== "object" || value === null || depth > 16) return;
  for (const [name, child] of Object.entries(value)) {
    if (typeof child === "string" && isSecretName(name)) into.add(child);
    else collectSecrets(child, into, depth + 1);
  }
}

/** Ids of the agents whose `.env` the file needs. */
export function agentIds(raw: Raw): string[] {
  if (!Array.isArray(raw.agents)) return [];
  const ids = raw.agents.map((entry) => (isRecord(entry) ? entry.id : null));
  return ids.filter((id): id is string => typeof id === "string" && AGENT_ID.test(id));
}

/** `base` with the values set in `over`. */
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
      error(`${path}.${gap.path}`, `needs the variable ${gap.name}, which is not set`),
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
 * Turns the (migrated) JSON of the file into a configuration. Invalid agents are skipped, and unknown keys are warnings;
 * if the gateway's own part is broken, there is no configuration, only problems.
 */
export function loadConfig(raw: Raw, input: LoadInput): Loaded | { config: null; problems: Problem[] } {
  const problems = unknownKeys(configFile, raw).map((path) => warning(path, "is not a known key"));
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
      wrong = [error(path, "another agent has this id")];
    }
    const named = result.id !== null && !agents.has(result.id) && !skipped.has(result.id);
    if (wrong.length > 0) {
      const raw = isRecord(entry) ? entry.id : undefined;
      skipped.set(named ? result.id! : `#${index}`, skipping(wrong, index, raw));
    } else if ("agent" in result) agents.set(result.agent.id, result.agent);
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
  return { config, problems, skipped, secrets };
}
