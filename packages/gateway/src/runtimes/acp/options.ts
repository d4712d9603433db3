import type { Reaper } from "../../lib/reaper.ts";

export interface AcpOptions {
  /** Program and first arguments: the agent's `command`. */
  command: readonly string[];
  /** The agent's `args`: appended. */
  args: readonly string[];
  /** The gateway's environment; an allow-list of it goes to the program. */
  hostEnv: Readonly<Record<string, string | undefined>>;
  reaper?: Reaper | undefined;
  /** The agent's configured `env`. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Folder that the command starts in. */
  cwd?: string | undefined;
  /** Tools of the agent program: all when unset. */
  allowTools?: boolean | readonly string[] | undefined;
  /** Retries of a failed model call, for programs that support a limit. */
  maxRetries?: number | undefined;
}
