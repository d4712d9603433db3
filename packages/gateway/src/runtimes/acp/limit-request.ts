import type { Fields } from "../agent-cli/index.ts";

/** How to start a program so that it is limited to the tools it may use. */
export interface Limits {
  /** Arguments to append. */
  args?: readonly string[];
  /** Configured arguments that would lift the limits; they are removed, with their values. */
  without?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** `_meta` of `session/new`. */
  meta?: Fields;
  /** What the program cannot be allowed, for the log. */
  warning?: string;
}

export interface LimitRequest {
  /** Names of the program's own tools that it may use. */
  allowed: readonly string[];
  /** Tools of servers outside the gateway that it may use: `mcp__server` or `mcp__server__tool`. */
  external: readonly string[];
  /** Names of the gateway's tools, which it may always use. */
  ownTools: readonly string[];
  /** Private folder of the session, for files that the program reads at its start. */
  dir: string;
  /** The agent's configured environment. */
  env: Readonly<Record<string, string>>;
}
