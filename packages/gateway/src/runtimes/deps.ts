import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Reaper } from "../lib/reaper.ts";
import type { DetectOptions } from "./auto.ts";
import type { RuntimeStatus } from "./status.ts";
import type { OfferedModels, Runtime } from "./types.ts";

/** The part of an agent's configuration that decides how it runs. */
export interface RuntimeAgent {
  id: string;
  /** Its `runtime` section. */
  runtime: {
    type: "auto" | Runtime["type"];
    command?: string[] | undefined;
    args?: string[] | undefined;
    maxRetries?: number | undefined;
    [key: string]: unknown;
  };
  env: Readonly<Record<string, string>>;
  /** Folder that its program runs in. */
  workspace?: string | undefined;
  /** Tools of the agent program: all when unset. */
  allowTools?: boolean | readonly string[] | undefined;
}

export interface RuntimeFactoryDeps {
  /** Environment of the gateway. */
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  log: Logger;
  reaper?: Reaper | undefined;
  /** Folder where an agent CLI keeps its state for one agent. */
  configDir?: (agentId: string) => string;
  /** Folder for notes on the private files of agent programs; see {@link sweepMcpFiles}. */
  mcpNotes?: string | undefined;
  /** Whether an agent's next processes run in a terminal, where their program can. */
  inTerminal?: (agentId: string) => boolean;
  /** The port that the gateway listens on, once it does. */
  ownPort?: () => number | undefined;
  /** For tests: how `auto` looks around. */
  detect?: Pick<DetectOptions, "which" | "fetch" | "login" | "loopbackPorts">;
}

export interface RuntimeFactory {
  /**
   * The agent's runtime: the same one until its configuration changes.
   * @throws Error with a user-facing message.
   */
  forAgent(agent: RuntimeAgent): Promise<Runtime>;
  /** What the agent runs on and why, such as `starter: no agent CLI, key or local model was found`. Never rejects. */
  describe(agent: RuntimeAgent): Promise<string>;
  /** State of the agent's runtime; what takes longer than `waitMs` (500) to find out is left as unknown. Never rejects. */
  status(agent: RuntimeAgent, waitMs?: number): Promise<RuntimeStatus>;
  /**
   * Models that the agent's program offers by itself: undefined where models are the gateway's, null where they are
   * not known. With `ask` the program is started when none of its sessions has told them yet. Never rejects.
   */
  models(agent: RuntimeAgent, how: { ask: boolean }): Promise<OfferedModels | null | undefined>;
  /**
   * For a reload of the configuration: `auto` looks around again at the next need, and what is kept for agents other
   * than these is dropped.
   */
  refresh(agentIds: Iterable<string>): void;
  close(): void;
}
