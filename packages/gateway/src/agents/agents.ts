import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "@agent-gateway/contract";
import {
  type AgentConfig,
  agentEnvFile,
  type ConfigStore,
  type Paths,
  writeDotenv,
} from "../config/index.ts";
import { type CreateAgent, checkRuntime, refuseVariables, type UpdateAgent } from "./input.ts";
import { type AgentRecord, agentRecord, type ChannelView } from "./record.ts";

type Raw = Record<string, unknown>;

export interface AgentsDeps {
  config: ConfigStore;
  paths: Paths;
  channelsOf(agentId: string): ChannelView;
}

/** The agents of the configuration, and changes to them: written to the file and applied at once. */
export interface Agents {
  list(): AgentRecord[];
  /** @throws {GatewayError} `AGENT_NOT_FOUND` */
  get(agentId: string): AgentRecord;
  /** @throws {GatewayError} `CONFLICT` when the id is taken, `INVALID_REQUEST` when the entry would not load. */
  create(input: CreateAgent): Promise<AgentRecord>;
  /** Changes what the patch names; `model: null` clears it. */
  update(agentId: string, patch: UpdateAgent): Promise<AgentRecord>;
  /** Takes the agent out of the configuration; its folder stays on disk. */
  remove(agentId: string): Promise<void>;
}

/** A key that is nothing but a reference to a variable. */
const REFERENCE = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/;

const isRecord = (value: unknown): value is Raw =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The list of entries in the file's JSON; made when there is none. */
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

export function createAgents({ config, paths, channelsOf }: AgentsDeps): Agents {
  const find = (agentId: string): AgentConfig => {
    const found = config.current.agents.find(({ id }) => id === agentId);
    if (!found) throw new GatewayError("AGENT_NOT_FOUND");
    return found;
  };
  const show = (agent: AgentConfig) => agentRecord(agent, channelsOf(agent.id));

  /** Keeps a key out of the configuration: its value goes to the agent's own file, named by the result. */
  async function storeApiKey(agentId: string, apiKey: string): Promise<string> {
    const name = `${agentId.toUpperCase().replaceAll("-", "_")}_RUNTIME_API_KEY`;
    await writeDotenv(agentEnvFile(paths, agentId), name, apiKey);
    return `\${${name}}`;
  }

  return {
    list: () => config.current.agents.map(show),
    get: (agentId) => show(find(agentId)),
    async create(input) {
      const { id, runtime: asked, ...rest } = input;
      refuseVariables(rest);
      const runtime = checkRuntime(asked ?? { type: "auto" });
      await config.update(async (raw) => {
        const entries = entriesOf(raw);
        if (entries.some(isEntryOf(id)) || config.current.agents.some((agent) => agent.id === id)) {
          throw new GatewayError("CONFLICT", "An agent with this id exists.");
        }
        await mkdir(join(paths.agentDir(id), "workspace"), { recursive: true, mode: 0o700 });
        if (runtime.apiKey !== undefined && !REFERENCE.test(runtime.apiKey)) {
          runtime.apiKey = await storeApiKey(id, runtime.apiKey);
        }
        entries.push({ id, ...rest, runtime });
      });
      return show(find(id));
    },
    async update(agentId, patch) {
      const { orchestration_enabled, ...texts } = patch;
      refuseVariables(texts);
      await config.update((raw) => {
        find(agentId);
        const entry = entriesOf(raw).find(isEntryOf(agentId));
        if (!isRecord(entry)) throw new GatewayError("CONFLICT", "The agent's entry cannot be changed here.");
        applyPatch(entry, patch);
        // Workers of an orchestration resume saved sessions, which only the headless mode can.
        if (orchestration_enabled && isRecord(raw.gateway) && raw.gateway.headless === false) {
          raw.gateway.headless = true;
        }
      });
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
  };
}
