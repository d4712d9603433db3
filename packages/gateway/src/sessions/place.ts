import type { AgentConfig } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { HistoryEntry, OpenOptions, RuntimeSession } from "../runtimes/index.ts";
import type { ToolScope } from "./ports.ts";

/** A session's place in the pool: its process, or one that is starting. */
export interface Place {
  readonly agentId: string;
  /** Empty while the place is a spare that no chat has taken yet. */
  chatId: string;
  readonly sessionId: string;
  busy: boolean;
  lastActivity: number;
  /** The same moment as the clock's `elapsed` has it. */
  idleSince: number;
  spawnedAt: number | null;
  /** When the program of the latest start was started, by the clock's `elapsed`; undefined while that waits. */
  startedAt: number | undefined;
  runtime: RuntimeSession | undefined;
  opening: Promise<RuntimeSession> | undefined;
  runtimeType: string | undefined;
  model: string | undefined;
  /** Tool servers outside the gateway that the process was started with. */
  mcpServers: OpenOptions["mcpServers"];
  /** The agent configuration that the process was started with. */
  agent: AgentConfig;
  readonly scope: ToolScope;
  /** Folder of a process that was started as a spare; removed with the process. */
  readonly spareDir: string | undefined;
  /** What a person has submitted in the program's terminal runs until then; undefined while nothing does. */
  occupied?: Promise<void> | undefined;
  /** Aborted when the place, or the process it has now, is given up. */
  abort: AbortController;
}

/** Start parameters of a process beyond its agent's configuration. */
export interface OpenRequest {
  model: string | undefined;
  resume(runtimeType: string): Promise<string | undefined>;
  history(): Promise<readonly HistoryEntry[]>;
  /** A process that is there already holds another conversation, and is replaced. */
  anew?: boolean;
}

/** What tools find while no turn runs. */
export const NO_TURN = {
  onAttachment: () => {},
  takeShare() {
    throw new Error("No turn is running; share the file in your next reply.");
  },
  onFile: undefined,
  wishes: undefined,
  acting: undefined,
};

/** Notes that something happens in a session, so that its process is not ended as idle. */
export function touch(place: Place, clock: Clock): void {
  place.lastActivity = clock.now();
  place.idleSince = clock.elapsed();
}

/** True when a process started for `a` may serve `b`: everything that reaches the process is the same. */
export function sameProcess(a: AgentConfig, b: AgentConfig): boolean {
  const key = (agent: AgentConfig) =>
    JSON.stringify([
      agent.runtime,
      agent.env,
      agent.workspace,
      agent.allowTools,
      agent.instructions,
      agent.cronTools,
    ]);
  return a === b || key(a) === key(b);
}
