import { resolveProgram } from "../../lib/process.ts";
import { childEnvironment } from "../../lib/shared-env.ts";
import { programName } from "../program-name.ts";
import type { RuntimeFacts } from "../types.ts";
import { NOT_LOGGED_IN, readLogin } from "./login.ts";
import { locateProgram, readVersion } from "./probe.ts";
import type { AgentCliOptions } from "./start.ts";

/** What is known about the agent program without a session: whether it exists, its version and its login. */
export async function inspectAgentCli({
  command,
  hostEnv,
  env = {},
  cwd = process.cwd(),
}: AgentCliOptions): Promise<RuntimeFacts> {
  const facts = { program: programName(command), warnings: [] };
  const own = childEnvironment(hostEnv, env, { families: ["anthropic", "openai"] });
  try {
    await resolveProgram(command, cwd, own);
  } catch (error) {
    const problem = error instanceof Error ? error.message : "The agent program was not found.";
    return { ...facts, version: null, login: "unknown", problem };
  }
  const located = await locateProgram(command, cwd, own);
  const [version, login] = await Promise.all([
    located && readVersion(located, own),
    readLogin(command, cwd, own),
  ]);
  return { ...facts, version, login, problem: login === "missing" ? NOT_LOGGED_IN : null };
}
