import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Reaper } from "../lib/reaper.ts";
import { type Detection, type DetectOptions, detectRuntime, findAgentCli } from "./auto.ts";
import { createStarterRuntime } from "./starter/index.ts";
import type { Runtime } from "./types.ts";

/** The part of an agent's configuration that decides how it runs. */
export interface RuntimeAgent {
  id: string;
  /** Its `runtime` section. */
  runtime: {
    type: "auto" | Runtime["type"];
    command?: string[] | undefined;
    args?: string[] | undefined;
    [key: string]: unknown;
  };
  env: Readonly<Record<string, string>>;
}

export interface RuntimeFactoryDeps {
  /** Environment of the gateway. */
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  log: Logger;
  reaper?: Reaper | undefined;
  /** Folder where an agent CLI keeps its state for one agent. */
  configDir?: (agentId: string) => string;
  /** The port that the gateway listens on, once it does. */
  ownPort?: () => number | undefined;
  /** For tests: how `auto` looks around. */
  detect?: Pick<DetectOptions, "which" | "fetch" | "loopbackPorts">;
}

export interface RuntimeFactory {
  /**
   * The agent's runtime: the same one until its configuration changes.
   * @throws Error with one sentence for the user.
   */
  forAgent(agent: RuntimeAgent): Promise<Runtime>;
  /** What the agent runs on and why, such as `starter: no agent CLI, key or local model was found`. Never rejects. */
  describe(agent: RuntimeAgent): Promise<string>;
  /** Has `auto` look around again at the next need: for a reload of the configuration. */
  refresh(): void;
  close(): Promise<void>;
}

interface Choice {
  runtime: Runtime;
  reason: string;
}

const NO_AGENT_CLI =
  "The agent CLI was not found: set the agent's runtime.command or AGENT_CLI_BIN, or put `claude` on PATH.";

/** Makes runtimes for agents. What an agent does not use is not loaded. */
export function createRuntimeFactory(deps: RuntimeFactoryDeps): RuntimeFactory {
  const chosen = new Map<string, { key: string; choice: Promise<Choice> }>();
  const detections = new Map<string, Promise<Detection>>();
  const made = new Set<Runtime>();
  const stop = new AbortController();

  const detect = (env: RuntimeAgent["env"]): Promise<Detection> => {
    const key = JSON.stringify(env);
    let detection = detections.get(key);
    if (!detection) {
      detection = detectRuntime({
        ...deps.detect,
        env: { ...deps.env, ...env },
        ownPort: deps.ownPort?.(),
        signal: stop.signal,
        log: deps.log,
      });
      detections.set(key, detection);
    }
    return detection;
  };

  const childOptions = (agent: RuntimeAgent, command: readonly string[]) => ({
    command,
    args: agent.runtime.args ?? [],
    hostEnv: deps.env,
    reaper: deps.reaper,
  });

  async function agentCli(agent: RuntimeAgent, command: readonly string[]): Promise<Runtime> {
    const { createAgentCliRuntime } = await import("./agent-cli/index.ts");
    return createAgentCliRuntime({
      ...childOptions(agent, command),
      configDir: deps.configDir?.(agent.id),
    });
  }

  async function builtin(agent: RuntimeAgent, section: Readonly<Record<string, unknown>>): Promise<Runtime> {
    const { createBuiltinRuntime } = await import("./builtin/index.ts");
    return createBuiltinRuntime(section, agent.env, deps);
  }

  async function choose(agent: RuntimeAgent): Promise<Choice> {
    const { runtime: section } = agent;
    switch (section.type) {
      case "auto": {
        const found = await detect(agent.env);
        const { reason } = found;
        if (found.type === "agent-cli") return { runtime: await agentCli(agent, found.command), reason };
        if (found.type === "starter") return { runtime: createStarterRuntime(deps), reason };
        return { runtime: await builtin(agent, { ...section, ...found.runtime }), reason };
      }
      case "starter":
        return { runtime: createStarterRuntime(deps), reason: "configured" };
      case "builtin":
        return { runtime: await builtin(agent, section), reason: `configured (${section.provider})` };
      case "agent-cli": {
        const command = section.command ?? (await defaultCommand(agent));
        return { runtime: await agentCli(agent, command), reason: "configured" };
      }
      case "acp": {
        const command = section.command ?? (await defaultCommand(agent));
        const { createAcpRuntime } = await import("./acp/index.ts");
        return { runtime: createAcpRuntime(childOptions(agent, command)), reason: "configured" };
      }
    }
  }

  async function defaultCommand(agent: RuntimeAgent): Promise<string[]> {
    const cli = await findAgentCli({ ...deps.env, ...agent.env }, deps.detect?.which);
    if (!cli) throw new Error(NO_AGENT_CLI);
    return [cli.program];
  }

  /** The key tells configurations apart; for `auto` also what was found, so that nothing changes without need. */
  async function keyOf(agent: RuntimeAgent): Promise<string> {
    const found = agent.runtime.type === "auto" ? await detect(agent.env) : undefined;
    return JSON.stringify([agent.runtime, agent.env, found && { ...found, tried: undefined }]);
  }

  async function choiceFor(agent: RuntimeAgent): Promise<Choice> {
    const key = await keyOf(agent);
    const known = chosen.get(agent.id);
    if (known?.key === key) return known.choice;
    const choice = choose(agent).then((result) => {
      made.add(result.runtime);
      return result;
    });
    chosen.set(agent.id, { key, choice });
    // A program that was missing may be there the next time.
    choice.catch(() => {
      if (chosen.get(agent.id)?.choice === choice) chosen.delete(agent.id);
    });
    return choice;
  }

  return {
    forAgent: async (agent) => (await choiceFor(agent)).runtime,
    async describe(agent) {
      try {
        const { runtime, reason } = await choiceFor(agent);
        return `${runtime.type}: ${reason}`;
      } catch (error) {
        return error instanceof Error ? error.message : "The runtime could not be set up.";
      }
    },
    refresh: () => detections.clear(),
    async close() {
      stop.abort();
      await Promise.all([...made].map((runtime) => runtime.close?.()));
    },
  };
}
