import { resolveProgram } from "../../lib/process.ts";
import { childEnvironment } from "../../lib/shared-env.ts";
import { programName } from "../program-name.ts";
import type { LoginState, OfferedModels, RuntimeFacts } from "../types.ts";
import type { AcpOptions } from "./options.ts";
import { cannotLimit, mayNotLimit, recogniseAgent, recogniseCommand } from "./programs.ts";

/** What an agent's sessions have learnt about its program. */
export interface Seen {
  /** As it introduced itself. */
  agentName: string | null;
  version: string | null;
  login: LoginState;
  models: OfferedModels | null;
  /** A model that was requested but that it does not offer. */
  refusedModel: string | null;
}

/** What is known about an agent program, including from its sessions. Starts nothing. */
export async function inspectAcp(options: AcpOptions, seen: Seen): Promise<RuntimeFacts> {
  const { command, cwd = process.cwd() } = options;
  const program = programName(command);
  const env = childEnvironment(options.hostEnv, options.env);
  const facts = { program, version: seen.version, login: seen.login };
  try {
    await resolveProgram(command, cwd, env);
  } catch (error) {
    const problem = error instanceof Error ? error.message : "The agent program was not found.";
    return { ...facts, problem, warnings: [] };
  }
  const warnings = seen.refusedModel === null ? [] : [notOffered(seen.refusedModel)];
  if ((options.allowTools ?? true) === true) return { ...facts, problem: null, warnings };
  const known =
    seen.agentName === null ? await recogniseCommand(command, cwd, env) : recogniseAgent(seen.agentName);
  if (known) return { ...facts, problem: known.limit ? null : cannotLimit(known), warnings };
  return { ...facts, problem: null, warnings: [mayNotLimit(program ?? "the agent program"), ...warnings] };
}

const notOffered = (model: string) =>
  `The agent does not offer the model ${model} and uses its own; /model lists the models it offers.`;
