import { join } from "node:path";
import { GatewayError } from "@agent-gateway/contract";
import {
  type AgentConfig,
  agentEnvFile,
  type ConfigStore,
  type Env,
  type Paths,
  writeDotenv,
} from "../config/index.ts";
import { readGreeting, writeGreeting } from "../lib/greeting-file.ts";
import { makeFolder } from "../lib/guarded/index.ts";
import { isRecord } from "../lib/is-record.ts";
import { PathError } from "../lib/safe-path.ts";
import { applyChannelPatch, type ChannelPatch, channelPatches } from "./channel-patch.ts";
import {
  type CreateAgent,
  checkRuntime,
  type RuntimeInput,
  refuseVariables,
  type UpdateAgent,
} from "./input.ts";
import { type AgentRecord, agentRecord, type ChannelView } from "./record.ts";
import { REFERENCE, type StoredSecrets, storeSecrets, variableName } from "./secrets.ts";
import { type CheckToken, checkTokens } from "./token-check.ts";

type Raw = Record<string, unknown>;

export interface AgentsDeps {
  config: ConfigStore;
  paths: Paths;
  /** Environment of the process; its variables override those in an agent's `.env`. */
  env: Env;
  /** The channels' current state for an agent. */
  channelsOf(agentId: string): ChannelView | Promise<ChannelView>;
  /** The connectors and whether the agent may use them. */
  connectorsOf(agent: AgentConfig): Promise<AgentRecord["connectors"]>;
  /** State of the agent's runtime. */
  runtimeStatus(agent: AgentConfig): Promise<AgentRecord["runtime_status"]>;
  checkToken: CheckToken;
}

/** Who changes an agent. */
export interface Changer {
  isAdmin: boolean;
  /** Called right before anything is saved: throws if they may not do so any more. */
  confirm?(): void;
}

/** The agents of the configuration, and changes to them: written to the file and applied at once. */
export interface Agents {
  list(): Promise<AgentRecord[]>;
  /** Rejects with `AGENT_NOT_FOUND`. */
  get(agentId: string): Promise<AgentRecord>;
  /** @throws {GatewayError} `CONFLICT` if the id is taken, `INVALID_REQUEST` if the entry would not load. */
  create(input: CreateAgent): Promise<AgentRecord>;
  /**
   * Changes what the patch names; null clears. Tokens are judged by their provider first, and go to the agent's
   * `.env`. Rejects, with nothing saved, for what cannot be.
   */
  update(agentId: string, patch: UpdateAgent, by?: Changer): Promise<AgentRecord>;
  /** Takes the agent out of the configuration; its folder stays on disk. */
  remove(agentId: string): Promise<void>;
  /** The text of the agent's greeting file; empty when there is none. */
  greeting(agentId: string): Promise<string>;
  /** Replaces the greeting file; an empty text removes it. Rejects with `CONFLICT` where no plain file can be. */
  setGreeting(agentId: string, text: string): Promise<void>;
}

/** The list of entries in the file's JSON; created if missing. */
function entriesOf(raw: Raw): unknown[] {
  if (!Array.isArray(raw.agents)) raw.agents = [];
  return raw.agents as unknown[];
}

const isEntryOf = (agentId: string) => (entry: unknown) => isRecord(entry) && entry.id === agentId;

function applyPatch(entry: Raw, patch: UpdateAgent): void {
  const { name, description, model, allow_tools, orchestration_enabled } = patch;
  if (name !== undefined) entry.name = name;
  if (description !== undefined) entry.description = description;
  if (model === null) delete entry.model;
  else if (model !== undefined) entry.model = model;
  if (allow_tools !== undefined) entry.allowTools = allow_tools;
  if (orchestration_enabled !== undefined) {
    const before = isRecord(entry.orchestration) ? entry.orchestration : {};
    entry.orchestration = { ...before, enabled: orchestration_enabled };
  }
}

/** Sets the named switches; null takes one back. */
function applySwitches(entry: Raw, switches: NonNullable<UpdateAgent["connectors"]>): void {
  const connectors: Raw = isRecord(entry.connectors) ? entry.connectors : {};
  for (const [id, value] of Object.entries(switches)) {
    if (value === null) delete connectors[id];
    else connectors[id] = isRecord(connectors[id]) ? { ...connectors[id], ...value } : value;
  }
  if (Object.keys(connectors).length > 0) entry.connectors = connectors;
  else delete entry.connectors;
}

export function createAgents(deps: AgentsDeps): Agents {
  const { config, paths, env, checkToken } = deps;
  const find = (agentId: string): AgentConfig => {
    const found = config.current.agents.find(({ id }) => id === agentId);
    if (!found) throw new GatewayError("AGENT_NOT_FOUND");
    return found;
  };
  const show = async (agent: AgentConfig) => {
    const [channels, connectors, status] = await Promise.all([
      deps.channelsOf(agent.id),
      deps.connectorsOf(agent),
      deps.runtimeStatus(agent),
    ]);
    return agentRecord(agent, channels, connectors, status);
  };

  const list: Agents["list"] = async () => {
    const { agents } = config.current;
    try {
      return await Promise.all(agents.map(show));
    } catch (error) {
      // One of them may have left the configuration meanwhile.
      if (agents.every(({ id }) => config.current.agents.some((agent) => agent.id === id))) throw error;
      return list();
    }
  };

  /** Keeps a key out of the configuration: its value goes into the agent's own `.env`, and the result refers to it. */
  async function storeApiKey(agentId: string, apiKey: string): Promise<string> {
    const name = variableName(agentId, "RUNTIME_API_KEY");
    await makeFolder(paths.agentDir(agentId));
    await writeDotenv(agentEnvFile(paths, agentId), name, apiKey);
    return `\${${name}}`;
  }

  /** Known keys for the entry, without a literal key of a provider. */
  async function keptRuntime(agentId: string, asked: RuntimeInput): Promise<RuntimeInput> {
    const runtime = checkRuntime(asked);
    if (runtime.apiKey === undefined || REFERENCE.test(runtime.apiKey)) return runtime;
    return { ...runtime, apiKey: await storeApiKey(agentId, runtime.apiKey) };
  }

  /** A key, an address and a command belong to the type and the provider that they were given for. */
  async function applyRuntime(agentId: string, entry: Raw, asked: RuntimeInput): Promise<void> {
    const before = isRecord(entry.runtime) ? entry.runtime : {};
    const runtime = await keptRuntime(agentId, asked);
    const same =
      runtime.type === before.type &&
      (runtime.provider === undefined || runtime.provider === before.provider);
    entry.runtime = same ? { ...before, ...runtime } : runtime;
  }

  /** Stores the secrets of the patches and changes the entry; `stored` gets each step that can be undone. */
  async function applyChannels(
    agentId: string,
    entry: Raw,
    patches: readonly ChannelPatch[],
    stored: StoredSecrets[],
  ): Promise<void> {
    for (const patch of patches) {
      const secrets = await storeSecrets({ paths, env }, agentId, entry, patch);
      stored.push(secrets);
      applyChannelPatch(entry, patch, secrets.references);
    }
  }

  return {
    list,
    get: async (agentId) => show(find(agentId)),
    async create(input) {
      const { id, runtime: asked, ...rest } = input;
      refuseVariables(rest);
      const runtime = checkRuntime(asked ?? { type: "auto" });
      await config.update(async (raw) => {
        const entries = entriesOf(raw);
        if (entries.some(isEntryOf(id)) || config.current.agents.some((agent) => agent.id === id)) {
          throw new GatewayError("CONFLICT", "An agent with this id already exists.");
        }
        await makeFolder(join(paths.agentDir(id), "workspace"));
        entries.push({ id, ...rest, runtime: await keptRuntime(id, runtime) });
      });
      return show(find(id));
    },
    async update(agentId, patch, { isAdmin, confirm } = { isAdmin: true }) {
      const { name, description, model, allow_tools } = patch;
      refuseVariables({ name, description, model, allow_tools });
      if (patch.runtime) {
        if (!isAdmin) throw new GatewayError("FORBIDDEN", "Only an admin key may set runtime.");
        checkRuntime(patch.runtime);
      }
      if (patch.connectors && !isAdmin)
        throw new GatewayError("FORBIDDEN", "Only an admin key may set connectors.");
      const patches = channelPatches(patch, isAdmin);
      await checkTokens(find(agentId), patches, checkToken);
      const stored: StoredSecrets[] = [];
      try {
        await config.update(async (raw) => {
          // Programs and providers may have been asked for long.
          confirm?.();
          find(agentId);
          const entry = entriesOf(raw).find(isEntryOf(agentId));
          if (!isRecord(entry))
            throw new GatewayError("CONFLICT", "The agent's entry cannot be changed here.");
          applyPatch(entry, patch);
          if (patch.connectors) applySwitches(entry, patch.connectors);
          if (patch.runtime) await applyRuntime(agentId, entry, patch.runtime);
          // Workers of an orchestration resume saved sessions, which only the headless mode can.
          if (patch.orchestration_enabled && isRecord(raw.gateway) && raw.gateway.headless === false) {
            raw.gateway.headless = true;
          }
          await applyChannels(agentId, entry, patches, stored);
        });
      } catch (error) {
        for (const step of stored.reverse()) await step.undo();
        throw error;
      }
      for (const step of stored) await step.finish();
      return show(find(agentId));
    },
    async remove(agentId) {
      await config.update((raw) => {
        find(agentId);
        const entries = entriesOf(raw);
        const rest = entries.filter((entry) => !isEntryOf(agentId)(entry));
        if (rest.length === entries.length) {
          throw new GatewayError("CONFLICT", "The agent's entry cannot be removed here.");
        }
        raw.agents = rest;
      });
    },
    greeting: async (agentId) => readGreeting(find(agentId).workspace),
    async setGreeting(agentId, text) {
      const { workspace } = find(agentId);
      try {
        await makeFolder(workspace);
        await writeGreeting(workspace, text);
      } catch (error) {
        if (!(error instanceof PathError)) throw error;
        throw new GatewayError(
          "CONFLICT",
          "In the agent's workspace, a link or something else is where GREETING.md should be; remove it first.",
        );
      }
    },
  };
}
