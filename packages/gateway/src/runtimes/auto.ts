import * as z from "zod";
import type { Logger } from "../lib/logger.ts";
import { resolveProgram } from "../lib/process.ts";
import type { readLogin } from "./agent-cli/index.ts";
import { programName } from "./program-name.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What `auto` chose. `reason` completes "the agent uses …: "; `tried` lists what was looked at, in order; `passedOver`
 * is a sentence for the owner about a program that is there but cannot be used.
 */
export type Detection = { reason: string; tried: readonly string[]; passedOver?: string } & (
  | { type: "agent-cli"; command: readonly string[] }
  | {
      type: "builtin";
      /** Fields of a `runtime` section. */
      runtime: { provider: "anthropic" | "openai" | "openai-compatible"; baseUrl?: string; model?: string };
    }
  | { type: "starter" }
);

export interface DetectOptions {
  /** Environment of the gateway, the agent's `env` over it. */
  env: Environment;
  /** Finds a program as a shell would; null if there is none. */
  which?: (program: string, env: Environment) => Promise<string | null>;
  /** Whether a program is logged in. */
  login?: typeof readLogin;
  fetch?: typeof fetch;
  /** Ports that local model servers use, the first that answers winning. */
  loopbackPorts?: readonly number[];
  /** The gateway's own port, which is never asked. */
  ownPort?: number | undefined;
  signal?: AbortSignal;
  log: Logger;
}

/** Ollama, LM Studio, llama.cpp, vLLM. */
const LOOPBACK_PORTS = [11_434, 1234, 8080, 8000];
const PROBE_MS = 300;

/**
 * Chooses how to run an agent whose runtime is `auto`: an agent CLI, else a provider key in the environment, else an
 * OpenAI-compatible server on this machine, else the starter. Never rejects.
 */
export async function detectRuntime(options: DetectOptions): Promise<Detection> {
  const { env, log, which = findProgram } = options;
  const tried: string[] = [];
  let passedOver: string | undefined;
  const chosen = (found: Detection): Detection => {
    const detection = passedOver === undefined ? found : { ...found, passedOver };
    if (passedOver !== undefined) log.warn({}, passedOver);
    log.info({ runtime: detection.type, reason: detection.reason, tried }, "runtime chosen automatically");
    return detection;
  };

  const cli = await findAgentCli(env, which, tried);
  if (cli) {
    const ask = options.login ?? (await import("./agent-cli/index.ts")).readLogin;
    const login = await ask([cli.program], process.cwd(), env);
    if (login !== "missing")
      return chosen({ type: "agent-cli", command: [cli.program], reason: cli.reason, tried });
    const name = programName([cli.program]);
    tried.push(`${name}: not logged in`);
    passedOver =
      `\`${name}\` is installed but not logged in, so it is not used: ` +
      "log in with it as the user that runs the gateway, or set ANTHROPIC_API_KEY.";
  }

  for (const [name, provider] of [
    ["ANTHROPIC_API_KEY", "anthropic"],
    ["OPENAI_API_KEY", "openai"],
  ] as const) {
    if (env[name]) return chosen({ type: "builtin", runtime: { provider }, reason: `${name} is set`, tried });
    tried.push(`${name}: not set`);
  }

  const ports = (options.loopbackPorts ?? LOOPBACK_PORTS).filter((port) => port !== options.ownPort);
  const probes = ports.map((port) => probe(port, options));
  for (const [index, port] of ports.entries()) {
    const model = await probes[index]!;
    if (model === null) {
      tried.push(`127.0.0.1:${port}: no model server`);
      continue;
    }
    return chosen({
      type: "builtin",
      runtime: { provider: "openai-compatible", baseUrl: `http://127.0.0.1:${port}/v1`, model },
      reason: `a model server answers on 127.0.0.1:${port} (model ${model})`,
      tried,
    });
  }
  return chosen({ type: "starter", reason: "no agent CLI, key or local model was found", tried });
}

/** The agent CLI: `AGENT_CLI_BIN`, else `claude` on PATH. Adds to `tried` what was not there. */
export async function findAgentCli(
  env: Environment,
  which: NonNullable<DetectOptions["which"]> = findProgram,
  tried: string[] = [],
): Promise<{ program: string; reason: string } | null> {
  const configured = env.AGENT_CLI_BIN;
  if (configured) {
    const program = await which(configured, env);
    if (program) return { program, reason: "AGENT_CLI_BIN is set" };
  }
  tried.push(`AGENT_CLI_BIN: ${configured ? "names no program" : "not set"}`);
  const program = await which("claude", env);
  if (program) return { program, reason: "the agent CLI `claude` is on PATH" };
  tried.push("claude: not on PATH");
  return null;
}

async function findProgram(program: string, env: Environment): Promise<string | null> {
  const found = await resolveProgram([program], process.cwd(), env).catch(() => null);
  return found?.[0] ?? null;
}

/** OpenAI's list of models: https://platform.openai.com/docs/api-reference/models/list */
const modelList = z.object({
  object: z.literal("list"),
  data: z.array(z.object({ id: z.string().min(1) })).min(1),
});

/** The first model, other than for embeddings, that a server on this port lists. */
async function probe(port: number, options: DetectOptions): Promise<string | null> {
  const timeout = AbortSignal.timeout(PROBE_MS);
  try {
    const response = await (options.fetch ?? fetch)(`http://127.0.0.1:${port}/v1/models`, {
      redirect: "error",
      headers: { accept: "application/json" },
      signal: options.signal ? AbortSignal.any([timeout, options.signal]) : timeout,
    });
    if (!response.ok) return null;
    const { data } = modelList.parse(await response.json());
    return data.find(({ id }) => !/embed/i.test(id))?.id ?? null;
  } catch {
    return null;
  }
}
