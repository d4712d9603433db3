import { sleep } from "../lib/clock.ts";
import { askModels } from "./ask-models.ts";
import { type Detection, detectRuntime, findAgentCli } from "./auto.ts";
import type { RuntimeAgent, RuntimeFactory, RuntimeFactoryDeps } from "./deps.ts";
import { createStarterRuntime } from "./starter/index.ts";
import { noFacts, type Outcomes, observed, type RuntimeStatus, statusOf } from "./status.ts";
import { withTempFolder } from "./temp-folder.ts";
import type { OfferedModels, Runtime } from "./types.ts";

export { announceRuntimes } from "./announce.ts";
export { findAgentCli } from "./auto.ts";

export { sweepMcpFiles } from "./mcp-file.ts";
export type { RuntimeStatus } from "./status.ts";
export type * from "./types.ts";
export type { RuntimeAgent, RuntimeFactory, RuntimeFactoryDeps };

interface Choice {
  runtime: Runtime;
  reason: string;
  passedOver?: string | undefined;
}

/** How long `auto` keeps to its choice while a program that it would take first is not logged in. */
const PASSED_OVER_MS = 30_000;
const STATUS_WAIT_MS = 500;

const NO_AGENT_CLI =
  "The agent CLI was not found: set the agent's runtime.command or AGENT_CLI_BIN, or put `claude` on PATH.";

const NO_OUTCOMES: Outcomes = { startProblem: null, lastError: null };
const sentenceOf = (error: unknown) =>
  error instanceof Error ? error.message : "Could not set up the runtime.";

/** Creates runtimes for agents. Runtimes that no agent uses are not loaded. */
export function createRuntimeFactory(deps: RuntimeFactoryDeps): RuntimeFactory {
  const { clock } = deps;
  const chosen = new Map<string, { key: string; choice: Promise<Choice>; outcomes: Outcomes }>();
  const detections = new Map<string, Promise<Detection>>();
  const stop = new AbortController();
  const askings = new Map<Runtime, Promise<OfferedModels | null>>();

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
      const mine = detection;
      void mine.then(({ passedOver }) => {
        if (passedOver === undefined) return;
        clock.after(PASSED_OVER_MS, () => detections.get(key) === mine && detections.delete(key));
      });
    }
    return detection;
  };

  const childOptions = (agent: RuntimeAgent, command: readonly string[]) => ({
    command,
    args: agent.runtime.args ?? [],
    env: agent.env,
    cwd: agent.workspace,
    hostEnv: deps.env,
    reaper: deps.reaper,
    maxRetries: agent.runtime.maxRetries,
  });

  async function agentCli(agent: RuntimeAgent, command: readonly string[]): Promise<Runtime> {
    const { createAgentCliRuntime } = await import("./agent-cli/index.ts");
    const own = {
      ...childOptions(agent, command),
      configDir: deps.configDir?.(agent.id),
      mcpNotes: deps.mcpNotes,
    };
    const runtime = createAgentCliRuntime(own);
    const inTerminal = () => deps.inTerminal?.(agent.id) ?? false;
    return {
      ...runtime,
      inTerminal,
      async open(options) {
        if (options.headless || !inTerminal()) return runtime.open(options);
        const { openInTerminal } = await import("./pty/index.ts");
        return openInTerminal(own, options);
      },
    };
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
        const about = { reason: found.reason, passedOver: found.passedOver };
        if (found.type === "agent-cli") return { runtime: await agentCli(agent, found.command), ...about };
        if (found.type === "starter") return { runtime: createStarterRuntime(deps), ...about };
        return { runtime: await builtin(agent, { ...section, ...found.runtime }), ...about };
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
        const options = { ...childOptions(agent, command), allowTools: agent.allowTools };
        return { runtime: createAcpRuntime(options), reason: "configured" };
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
    return JSON.stringify([
      agent.runtime,
      agent.env,
      agent.allowTools,
      found && { ...found, tried: undefined },
    ]);
  }

  async function choiceFor(agent: RuntimeAgent): Promise<Choice> {
    const key = await keyOf(agent);
    const known = chosen.get(agent.id);
    if (known?.key === key) return known.choice;
    const outcomes: Outcomes = { startProblem: null, lastError: null };
    const choice = choose(agent).then((result) => {
      const hasProcess = result.runtime.type !== "starter";
      const runtime = observed(hasProcess ? withTempFolder(result.runtime) : result.runtime, outcomes, clock);
      return { ...result, runtime };
    });
    chosen.set(agent.id, { key, choice, outcomes });
    // A program that was missing may be there the next time.
    choice.catch(() => {
      if (chosen.get(agent.id)?.choice === choice) chosen.delete(agent.id);
    });
    return choice;
  }

  async function statusNow(agent: RuntimeAgent): Promise<RuntimeStatus> {
    try {
      const { runtime, passedOver } = await choiceFor(agent);
      const facts = await runtime.inspect();
      const outcomes = chosen.get(agent.id)?.outcomes ?? NO_OUTCOMES;
      return statusOf(runtime.type, facts, outcomes, passedOver === undefined ? [] : [passedOver]);
    } catch (error) {
      return statusOf(agent.runtime.type, noFacts("unknown", sentenceOf(error)), NO_OUTCOMES);
    }
  }

  return {
    forAgent: async (agent) => (await choiceFor(agent)).runtime,
    async describe(agent) {
      try {
        const { runtime, reason } = await choiceFor(agent);
        return `${runtime.type}: ${reason}`;
      } catch (error) {
        return sentenceOf(error);
      }
    },
    async status(agent, waitMs = STATUS_WAIT_MS) {
      const wait = new AbortController();
      const late = sleep(clock, waitMs, wait.signal).then(() => undefined);
      const status = await Promise.race([statusNow(agent), late]);
      wait.abort();
      return status ?? statusOf(agent.runtime.type, noFacts("unknown"), NO_OUTCOMES);
    },
    async models(agent, { ask }) {
      const runtime = await choiceFor(agent).then(
        (choice) => choice.runtime,
        () => undefined,
      );
      if (!runtime?.models) return agent.runtime.type === "acp" ? null : undefined;
      const known = runtime.models();
      if (known || !ask) return known;
      let asking = askings.get(runtime);
      if (!asking) {
        asking = askModels(runtime, agent, deps, stop.signal).finally(() => askings.delete(runtime));
        askings.set(runtime, asking);
      }
      return asking;
    },
    refresh(agentIds) {
      detections.clear();
      const left = new Set(agentIds);
      for (const id of chosen.keys()) if (!left.has(id)) chosen.delete(id);
    },
    close: () => stop.abort(),
  };
}
