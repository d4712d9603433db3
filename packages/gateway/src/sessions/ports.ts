import type { Attachment, Usage } from "@agent-gateway/contract";
import type { AgentConfig, Config } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { CutOffTurn } from "../lib/turn-ends.ts";
import type { GatewayTool, InputFile, OpenOptions, Runtime, TurnUse } from "../runtimes/index.ts";
import type { Change, Store } from "../store/index.ts";
import type { WatchPort } from "./watched.ts";

/** What sessions need from the media room. */
export interface MediaPort {
  /** Throws `INVALID_REQUEST` when the path is not an upload of this agent. */
  resolveUpload(agentId: string, mediaPath: string): Promise<InputFile>;
  /** Stores an image that the agent returned; resolves to its media path. */
  storeImage(agentId: string, mime: string, data: Uint8Array): Promise<string>;
  attachmentUrl(agentId: string, mediaPath: string): string;
}

/** What sessions need from the history room. */
export interface HistoryPort {
  /** Removes a session's messages and everything derived from them. */
  clear(session: number): Change;
  /** Removes them in slices, so that many of them do not hold up other writes. */
  emptySession(agentId: string, session: number): Promise<void>;
}

/** Parameters for images and videos that came with a message. */
export interface Wishes {
  image?: object | undefined;
  video?: object | undefined;
}

/** The session in which a gateway tool is called. */
export interface ToolScope {
  readonly agentId: string;
  chatId: string;
  readonly sessionId: string;
  sessionDir: string;
  onAttachment(attachment: Attachment): void;
  /** Counts a file before it is shared; throws a message for the agent when the running turn may have no more. */
  takeShare(): void;
  /** What the message of the running turn asks of tools that make images and videos. */
  wishes?: Wishes | undefined;
  /** The agent awaits this before it does anything that cannot be undone; undefined while no turn runs. */
  acting?: (() => Promise<void>) | undefined;
  /** Takes a file to be sent to the chat; undefined if the chat takes no files. */
  onFile?: ((file: SharedFile) => void) | undefined;
}

/** A file that the agent shared, copied to its permanent place: absolute path, type by content, display name. */
export interface SharedFile {
  path: string;
  name: string;
  mime: string;
}

/** What sessions need from the usage room. */
export interface UsagePort {
  /** What a turn used, and the changes to be committed with its end. */
  record(turn: {
    requestId: string;
    agentId: string;
    keyId: string | null;
    chatId: string;
    session: string;
    model: string | undefined;
    used: TurnUse | undefined;
    chars: { told: number; said: number };
  }): { usage: Usage; change: readonly Change[] };
}

/** Session counts, for `/status` and `/metrics`. */
export interface TurnCounters {
  received(agentId: string): void;
  sent(agentId: string): void;
  ended(agentId: string, status: string, ms: number): void;
}

/** What sessions need from the feed. */
export interface FeedPort {
  /** Tells what happened in a session, in the unit that makes it true. */
  event(told: {
    type:
      | "message.received"
      | `turn.${"started" | "finished" | "failed"}`
      | `session.${"created" | "deleted" | "restarted"}`;
    agentId: string;
    data: Readonly<Record<string, unknown>>;
    /** The message whose text it tells. */
    message?: number | undefined;
    /** Told only if the session exists then. */
    while?: { session: string } | undefined;
  }): Change;
}

export interface SessionDeps {
  feed: FeedPort;
  watch: WatchPort;
  store: Pick<Store, "sessions" | "messages" | "turns" | "ids" | "forAgent">;
  clock: Clock;
  log: Logger;
  config: () => Config;
  agent(agentId: string): AgentConfig | undefined;
  runtimeFor(agent: AgentConfig): Promise<Runtime>;
  sessionDir(agentId: string, chatId: string, sessionId: string): string;
  media: MediaPort;
  history: HistoryPort;
  models: {
    contextWindow(id: string): number | undefined;
  };
  tools(scope: ToolScope): GatewayTool[];
  /**
   * Tool servers outside the gateway that a process of the agent gets, and what its instructions say of them. With
   * `starting`, may wait for a server. Never rejects.
   */
  toolServers(
    agent: AgentConfig,
    runtimeType: string | undefined,
    starting: boolean,
  ): Promise<{ servers: OpenOptions["mcpServers"]; note: string | undefined }>;
  counters: TurnCounters;
  usage: UsagePort;
  /** Changes committed together with the closing of a turn that a crash cut off. */
  cutOff(turn: CutOffTurn): readonly Change<unknown>[] | Promise<readonly Change<unknown>[]>;
  /** Called when a turn that the caller took for one that never began was closed. */
  closedLate?(): void;
  /** Called at each labelled step of a turn; the crash tests end the process there. */
  step(label: TurnStep): void;
}

/** The steps of a turn between which a crash must lose nothing. */
export type TurnStep =
  | "before-user-row"
  | "after-user-row"
  | "after-spawn"
  | "agent-began"
  | "after-began-row"
  | "first-delta"
  | "before-assistant-row"
  | "after-assistant-row"
  | "before-done";
