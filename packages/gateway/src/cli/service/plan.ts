import { delimiter, isAbsolute, resolve } from "node:path";
import { CliError } from "../errors.ts";
import type { ServicePlan } from "./types.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Settings that the service gets from the shell that installs it. */
const KEPT = ["PORT", "GATEWAY_BIND", "GATEWAY_NODE_NAME", "AGENT_CLI_BIN", "MODELS_BASE_URL"];
const KEPT_PATHS = ["GATEWAY_HOME", "GATEWAY_CONFIG", "GATEWAY_MCP_TOKEN_ENV_PATH"];
/** May hold passwords, and everybody can read what a service is. */
const LEFT_OUT = ["GATEWAY_STORE_URL", "MODELS_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"];

/** Folders of the shell's PATH that will be there without the shell: npm adds some of its own while it runs a program. */
const lastingPath = (path: string) =>
  [...new Set(path.split(delimiter))]
    .filter((folder) => isAbsolute(folder) && !/\/node_modules\/|\/node-gyp-bin/.test(`${folder}/`))
    .join(delimiter);

export interface PlanInput {
  name: string;
  system: boolean;
  user: string | undefined;
  env: Env;
  cwd: string;
  /** The Node.js and the program that run now. */
  node: string;
  program: string;
}

/**
 * What the service runs, and with what.
 * @throws CliError when the program is only there for the moment
 */
export function planService(input: PlanInput): { plan: ServicePlan; leftOut: string[] } {
  const { name, system, user, env, cwd, node, program } = input;
  if (program.includes("/_npx/")) {
    throw new CliError(
      "npx keeps this program only for a while: install it with `npm install -g agent-gateway`, and then the service.",
    );
  }
  const kept: Record<string, string> = {};
  const path = lastingPath(env.PATH ?? "");
  if (path) kept.PATH = path;
  for (const variable of KEPT_PATHS) if (env[variable]) kept[variable] = resolve(cwd, env[variable]);
  for (const variable of KEPT) if (env[variable]) kept[variable] = env[variable];
  const command = [node, program, "start"];
  if ([...command, ...Object.values(kept)].some((value) => /\p{Cc}/u.test(value))) {
    throw new CliError("A path or variable that the service needs holds a control character.");
  }
  return {
    plan: { name, system, user, command, env: kept },
    leftOut: LEFT_OUT.filter((variable) => env[variable]),
  };
}
