import { randomUUID } from "node:crypto";
import type { Reaper } from "../../lib/reaper.ts";
import { childEnvironment } from "../../lib/shared-env.ts";
import type { OpenOptions } from "../types.ts";
import { retryEnvironment } from "../upstream.ts";
import { type buildArguments, type Conversation, runtimeEnvironment } from "./args.ts";
import { chooseConfigDir } from "./config-dir.ts";
import { type ProgramTraits, probeProgram } from "./probe.ts";
import type { AgentLine } from "./protocol.ts";

export interface AgentCliOptions {
  /** Program and first arguments: the agent's `command`, else `[AGENT_CLI_BIN]`, else `["claude"]`. */
  command: readonly string[];
  /** The agent's `args`: appended after everything else. */
  args: readonly string[];
  /** The gateway's environment; an allow-list of it goes to the program. */
  hostEnv: Readonly<Record<string, string | undefined>>;
  /** The agent's configured `env`. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Folder that the command starts in. */
  cwd?: string | undefined;
  reaper?: Reaper | undefined;
  /** Repeats of a failed model call; undefined leaves it to the environment, then to the default. */
  maxRetries?: number | undefined;
  /**
   * Folder for the program's state, one per agent. Used only where a login does not get lost by it; undefined leaves
   * the program to the user's own folder.
   */
  configDir?: string | undefined;
  /** Folder for notes on private files, by which the next start finds those that a kill left. */
  mcpNotes?: string | undefined;
  /** Finds out what the program is; tests hand in their own. */
  probe?: (
    command: readonly string[],
    cwd: string,
    env: Readonly<Record<string, string>>,
  ) => Promise<ProgramTraits>;
}

/** How to start the program for one session; the same for its first start and a second one. */
export interface Launch {
  env: Readonly<Record<string, string>>;
  traits: ProgramTraits;
  command(conversation: Conversation, model: string | undefined): string[];
}

export async function prepareLaunch(
  runtime: AgentCliOptions,
  options: OpenOptions,
  build: typeof buildArguments,
  mcpFile: string | undefined,
): Promise<Launch> {
  const families = ["anthropic", "openai"] as const;
  const own = childEnvironment(runtime.hostEnv, options.env, { families });
  const configDir = await chooseConfigDir(runtime.configDir, own);
  const ours = {
    ...runtimeEnvironment(options.contextWindow, configDir),
    ...retryEnvironment(runtime.hostEnv, runtime.maxRetries),
  };
  const env = childEnvironment(runtime.hostEnv, { ...ours, ...options.env }, { families });
  const traits = await (runtime.probe ?? probeProgram)(runtime.command, options.cwd, env);
  return {
    env,
    traits,
    command: (conversation, model) => [
      ...runtime.command,
      ...build({ ...options, mcpFile }, conversation, model, traits.flags),
      ...runtime.args,
    ],
  };
}

/** Whether the program ends because the conversation that it should resume is not there. */
export function saysUnknown(line: AgentLine): boolean {
  return (
    line.kind === "result" &&
    line.isError &&
    /no conversation found/i.test([line.text, ...line.errors].join(" "))
  );
}

/** What to try after a start that failed before the program was heard of: null when there is nothing better. */
export function nextConversation(
  failed: Conversation,
  sessionId: string,
  { unknown, code, stderr }: { unknown: boolean; code: number | null; stderr: string },
): Conversation | null {
  if (failed.type === "resume") {
    return unknown || (code !== null && code !== 0) ? { type: "new", id: sessionId } : null;
  }
  // The id of an earlier conversation that was cleared.
  return code !== 0 && /already in use/i.test(stderr) ? { type: "new", id: randomUUID() } : null;
}
