import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

/** More of a file than this does not go to an agent; the models take less. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** A file that goes to the agent with a message. */
export interface InputFile {
  /** Absolute path on this machine, without symbolic links. */
  path: string;
  /** Type found by content: `image/png`, `image/jpeg`, `image/gif`, `image/webp` or `application/pdf`. */
  mime: string;
}

/** What the agent is told in one turn. */
export interface TurnInput {
  text: string;
  files: readonly InputFile[];
}

/** One earlier message, given to a process that does not know the conversation. */
export interface HistoryEntry {
  role: "user" | "assistant";
  text: string;
}

/** What a runtime tells while a turn runs, in order. */
export type RuntimeEvent =
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  /** `title` is for people; `input` is JSON, cut like `result` by `toolText`. */
  | { type: "tool_use"; name: string; id: string; title?: string; input?: string }
  | { type: "tool_result"; id: string; isError: boolean; result?: string }
  /** The agent asks its model again after a failed attempt. */
  | { type: "retry"; attempt: number; of: number; status?: number; message: string }
  /** The model is at work, with nothing to show for it yet. */
  | { type: "activity" }
  /** An image that came back in a tool result or from the model. */
  | { type: "image"; mime: string; data: Uint8Array };

/**
 * How a turn ended. `text` is the whole reply; it always is, or ends with, what the text events added up to, unless
 * the runtime knows better.
 */
export interface TurnOutcome {
  status: "done" | "interrupted" | "failed";
  text: string;
  /** For `failed`: one sentence for the user. */
  error?: string;
  /** For `failed`: the process was gone before it took the turn; where it had stood ready, a new one may have it. */
  unread?: boolean;
  /** Real model that answered, where the runtime says so. */
  model?: string;
  /** Share of the context in use, 0-100, where the runtime reports it. */
  contextPercent?: number;
}

/** A tool of the gateway's own that the agent can call. */
export interface GatewayTool {
  name: string;
  description: string;
  /** JSON Schema (type object) of the arguments. */
  inputSchema: Record<string, unknown>;
  /** Returns text for the agent. A thrown error's message goes to the agent as an error result. */
  call(args: Record<string, unknown>): Promise<string>;
}

export interface OpenOptions {
  agentId: string;
  /** Gateway session id (UUID): also the id that a runtime with sessions of its own should use for a new one. */
  sessionId: string;
  /** Working directory: the agent's workspace. Exists. */
  cwd: string;
  /** Per-session folder for files of the runtime. Exists. */
  sessionDir: string;
  /** Model id; undefined leaves the choice to the runtime. */
  model: string | undefined;
  /** Context window in tokens of that model, where the gateway knows it. */
  contextWindow: number | undefined;
  /** The agent's configured `env`, already interpolated. */
  env: Readonly<Record<string, string>>;
  /** Tools of the agent program: true all, false none, or these. */
  allowTools: boolean | readonly string[];
  /** Standing instructions from the gateway (who is talking, image settings). Undefined when there are none. */
  instructions: string | undefined;
  /** Token of {@link RuntimeSession.resumeToken} when the agent program's own session holds the conversation. */
  resume: string | undefined;
  /** Messages to put in front when `resume` is undefined, or turns out to be unknown. Oldest first. */
  history: readonly HistoryEntry[];
  tools: readonly GatewayTool[];
  /**
   * Awaited before the agent program is allowed a tool: resolves when it is on disk that the agent has begun, so that
   * its turn is not run again after a crash. Rejects with a sentence for the agent when that cannot be stored.
   */
  acting?: () => Promise<void>;
  log: Logger;
  clock: Clock;
  /** Aborted when nobody wants the session any more; opening must then fail and leave no process. */
  signal: AbortSignal;
}

/** A live conversation with an agent: usually one child process. */
export interface RuntimeSession {
  /** Process id, or null where the runtime has no process. */
  readonly pid: number | null;
  /** Names the agent program's own session, for `resume` later; null while there is none. */
  readonly resumeToken: string | null;
  /** Real model of the latest answer, else the one that the program has chosen; undefined where it is not known. */
  readonly model?: string | undefined;
  /** True when the process holds the conversation because it resumed or was given the history. */
  readonly primed: boolean;
  /**
   * Runs one turn; never two at a time. Events arrive synchronously through `emit`, in the order the agent wrote
   * them. Resolves when the turn is over, also when the process died (`failed`). Never rejects.
   */
  turn(input: TurnInput, emit: (event: RuntimeEvent) => void): Promise<TurnOutcome>;
  /** Asks the running turn to end; `turn` then resolves `interrupted`. Escalates by itself within 5 s. */
  interrupt(): Promise<void>;
  /** Changes the model for the next turns. False when the runtime cannot without a new process. */
  setModel(model: string): Promise<boolean>;
  /** Share of the context in use, 0-100; undefined when unknown. At most 2 s. */
  contextPercent(): Promise<number | undefined>;
  /**
   * Shortens the agent's own view of the conversation. Resolves to the summary; `null` when the runtime has no
   * compaction, and the caller must start a new process with what it wants to keep.
   */
  compact(): Promise<{ summary: string | null } | null>;
  /** Ends the process group: politely, then by force within 3 s. Safe to call twice. */
  close(): Promise<void>;
  /** Resolves when the process is gone, for whatever reason. */
  readonly closed: Promise<void>;
}

/** Whether an agent program is logged in with its provider. */
export type LoginState = "ok" | "missing" | "unknown" | "not-needed";

/** What a runtime knows of its program without starting a session. */
export interface RuntimeFacts {
  /** Name of the program, without its folder. */
  program: string | null;
  version: string | null;
  login: LoginState;
  /** One sentence for the user: why no session can start. */
  problem: string | null;
  /** What the owner should know although sessions start. */
  warnings: readonly string[];
}

/** Models that an agent program offers by itself. */
export interface OfferedModels {
  /** What it uses unless told otherwise. */
  current: string | null;
  available: readonly { id: string; name: string }[];
}

/** A way to run agents. One instance serves one agent's configuration. */
export interface Runtime {
  readonly type: "agent-cli" | "acp" | "builtin" | "starter";
  /** Starts a session. Rejects with one sentence for the user (an `Error`, no path or secret in its message). */
  open(options: OpenOptions): Promise<RuntimeSession>;
  /** What is known of the program; may run it, so nothing that somebody waits for should. Never rejects. */
  inspect(): Promise<RuntimeFacts>;
  /** The program's own models as its latest session told them; null before. Absent where models are the gateway's. */
  models?(): OfferedModels | null;
  /** Frees what is shared between sessions. */
  close?(): Promise<void>;
}
