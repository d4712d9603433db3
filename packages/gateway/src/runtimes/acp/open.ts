import { join } from "node:path";
import { childEnvironment } from "../../lib/shared-env.ts";
import type { Fields } from "../agent-cli/index.ts";
import { splitAllowed } from "../mcp-names.ts";
import type { OpenOptions } from "../types.ts";
import { NotSignedIn, startFailure } from "./failure.ts";
import { type AgentSession, type AgentTraits, initialize, openSession } from "./handshake.ts";
import type { Seen } from "./inspect.ts";
import type { Limits } from "./limit-request.ts";
import { type Link, openLink } from "./link.ts";
import { describeServers } from "./mcp-servers.ts";
import type { AcpOptions } from "./options.ts";
import { cannotLimit, type KnownProgram, mayNotLimit, recogniseAgent, recogniseCommand } from "./programs.ts";

export interface OpenAgent {
  link: Link;
  traits: AgentTraits;
  session: AgentSession;
  program: KnownProgram | undefined;
}

/** The second start is for a program that turned out to be a known one; there is no third. */
const MAX_STARTS = 2;

/**
 * Starts the agent program limited to the tools it may use, and opens a session.
 * @throws Error with a user-facing message if it does not start, or cannot be limited to those tools.
 */
export async function openAgent(
  runtime: AcpOptions,
  options: OpenOptions,
  seen: Seen,
  handlers: Parameters<typeof openLink>[2] & { mcpServers: readonly Fields[] },
): Promise<OpenAgent> {
  const { log, signal, allowTools } = options;
  const env = childEnvironment(runtime.hostEnv, options.env);
  let program = recogniseAgent(seen.agentName) ?? (await recogniseCommand(runtime.command, options.cwd, env));
  for (let start = 1; ; start++) {
    const limits: Limits = allowTools === true ? {} : await limitsOf(program, options);
    if (limits.warning !== undefined) log.warn({}, limits.warning);
    const configured = { ...options, env: { ...program?.env, ...options.env } };
    const link = await openLink(runtime, configured, handlers, limits);
    const onAbort = () => link.process.kill("SIGKILL");
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    try {
      const traits = await initialize(link.rpc, log);
      seen.agentName = traits.name;
      seen.version = traits.version;
      const told = traits.name === null ? program : recogniseAgent(traits.name);
      if (allowTools !== true && told !== undefined && told !== program && start < MAX_STARTS) {
        program = told;
        await link.process.close({ graceMs: 0 });
        continue;
      }
      if (allowTools !== true && told === undefined) log.warn({}, mayNotLimit(traits.name ?? "this program"));
      const servers = describeServers(options.mcpServers, traits);
      const all = [...handlers.mcpServers, ...servers];
      const session = await openSession(link.rpc, traits, options, all, limits.meta);
      return { link, traits, session, program: told ?? program };
    } catch (error) {
      const stderr = link.process.stderrTail();
      await link.process.close({ graceMs: 0 });
      log.warn({ err: error, stderr }, "could not start the agent");
      if (error instanceof NotSignedIn) seen.login = "missing";
      throw startFailure(error, stderr);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }
}

async function limitsOf(program: KnownProgram | undefined, options: OpenOptions) {
  const { allowTools, sessionDir, env } = options;
  if (program === undefined) return {};
  if (program.limit === null) throw new Error(cannotLimit(program));
  const { program: allowed, external } = splitAllowed(typeof allowTools === "boolean" ? [] : allowTools);
  const ownTools = options.tools.map(({ name }) => name);
  return program.limit({ allowed, external, ownTools, dir: join(sessionDir, "limits"), env });
}
