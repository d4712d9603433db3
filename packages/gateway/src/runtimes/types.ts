import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

/** At most this much of a file is sent to an agent; models accept less. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** A file that goes to the agent with a message. */
export interface InputFile {
  /** Absolute path on this machine, without symbolic links. */
  path: string;
  /** Type found by content: `image/png`, `image/jpeg`, `image/gif`, `image/webp` or `application/pdf`. */
  mime: string;
}

/** The agent's input for one turn. */
export interface TurnInput {
  text: string;
  files: readonly InputFile[];
}

/** One earlier message, given to a process that does not know the conversation. */
export interface HistoryEntry {
  role: "user" | "assistant";
  text: string;
}

/** Events of a running turn, in order. */
export type RuntimeEvent =
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  /** `title` is for people; `input` is JSON, cut like `result` by `toolText`. */
  | { type: "tool_use"; name: string; id: string; title?: string; input?: string }
  | { type: "tool_result"; id: string; isError: boolean; result?: string }
  /** The agent retries its model call after a failure. */
  | { type: "retry"; attempt: number; of: number; status?: number; message: string }
  /** The model is working, but has nothing to show yet. */
  | { type: "activity" }
  /** An image that came back in a tool result or from the model. */
  | { type: "image"; mime: string; data: Uint8Array };

/** Tokens as providers bill them: `inputTokens` leaves out what their cache held or took. */
export interface TokenCounts {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
}

/** What one model used in one turn. */
export interface ModelUse extends TokenCounts {
  model: string | undefined;
  /** US dollars, if the runtime reports them. */
  cost?: number;
}

/** What a turn used, as its runtime reports it. */
export interface TurnUse {
  /** Empty when no tokens were reported. */
  models: readonly ModelUse[];
  /** US dollars for the whole turn, where they are not reported by model. */
  cost?: number;
}

/**
 * How a turn ended. `text` is the whole reply; it always is, or ends with, what the text events added up to, unless
 * the runtime knows better.
 */
export interface TurnOutcome {
  status: "done" | "interrupted" | "failed";
  text: string;
  /** For `failed`: a user-facing message. */
  error?: string;
  /** For `failed`: the process was gone before it took the turn; where it had stood ready, a new one may have it. */
  unread?: boolean;
  /** For `failed`: the process has ended, or is about to, and not because the gateway ended it. */
  gone?: boolean;
  /** The model that actually answered, if the runtime reports it. */
  model?: string;
  /** Share of the context in use, 0-100, if the runtime reports it. */
  contextPercent?: number;
  /** Undefined when the runtime reports nothing. */
  usage?: TurnUse;
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

/** A tool server outside the gateway that speaks the Model Context Protocol: a program, or an address. */
export type McpServer =
  | { command: string; args?: string[] | undefined; env?: Record<string, string> | undefined }
  | { url: string; type?: "http" | "sse" | undefined; headers?: Record<string, string> | undefined };

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
  /** Tool servers outside the gateway, by name; with their secrets, which must stay out of arguments and logs. */
  mcpServers: Readonly<Record<string, McpServer>>;
  /**
   * Awaited before the agent program is allowed a tool: resolves when it is on disk that the agent has begun, so that
   * its turn is not run again after a crash. Rejects with a message for the agent if that cannot be stored.
   */
  acting?: () => Promise<void>;
  /** Called for everything that the agent program writes, between turns too. */
  onOutput?: () => void;
  /** Called when a person in the program's terminal has submitted something; `until` resolves when that has ended. */
  onOccupied?: (until: Promise<void>) => void;
  /** Without a terminal, whatever the configuration says. */
  headless?: boolean;
  log: Logger;
  clock: Clock;
  /** Aborted when the session is no longer needed; opening must then fail and leave no process. */
  signal: AbortSignal;
}

/** A live pseudo-terminal, as people who look at it need it. */
export interface LiveTerminal {
  readonly cols: number;
  readonly rows: number;
  /** The screen as terminal bytes that draw it anew, with at most 1,000 earlier lines. Waits until all output so far is in it. */
  snapshot(): Promise<Uint8Array>;
  /** The visible screen without escapes. */
  screen(): Promise<{ text: string; cursorRow: number; cursorCol: number; cols: number; rows: number }>;
  /**
   * Calls the listener with each chunk of output from now on, until the returned function is called. Chunks follow a
   * snapshot() seamlessly when the listener is added in the same tick in which the snapshot resolves.
   */
  onOutput(listener: (bytes: Uint8Array) => void): () => void;
  /** Keystrokes of a person; the program may be in the middle of a turn. */
  type(keys: string): void;
  /** When the program has ended; never rejects. */
  readonly ended: Promise<void>;
}

/** What a program's screen says of it; its words are never taken from there. */
export interface ScreenReading {
  /** It takes input. */
  ready: boolean;
  busy: boolean;
  /** The known question that stands there. */
  dialog: "permission-bypass" | "folder-trust" | null;
}

/** The terminal of an agent program. */
export interface ProgramTerminal extends LiveTerminal {
  /** Waits until all output so far is on the screen. */
  reading(): Promise<ScreenReading>;
  /** When the program last printed anything, as the clock's `elapsed` has it; when it started while it has not. */
  printedAt(): number;
  /**
   * Presses a key that no person pressed: Escape, or what answers the known question on the screen in the safe way.
   * False, with nothing pressed, when there is no such question.
   */
  press(key: "escape" | "answer"): Promise<boolean>;
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
  compact(): Promise<{ summary: string | null; usage?: TurnUse } | null>;
  /** The end of what the program wrote to stderr. Absent where that is not kept. */
  stderrTail?(): string;
  /** Absent where the program runs in none. */
  readonly terminal?: ProgramTerminal;
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
  /** User-facing reason why no session can start. */
  problem: string | null;
  /** Warnings for the owner that do not keep sessions from starting. */
  warnings: readonly string[];
}

/** Models that an agent program offers by itself. */
export interface OfferedModels {
  /** Its default model. */
  current: string | null;
  available: readonly { id: string; name: string }[];
}

/** A way to run agents. One instance serves one agent's configuration. */
export interface Runtime {
  readonly type: "agent-cli" | "acp" | "builtin" | "starter";
  /** Starts a session. Rejects with a user-facing message (an `Error` without path or secret). */
  open(options: OpenOptions): Promise<RuntimeSession>;
  /** What is known about the program; may run it, so do not call this while someone waits. Never rejects. */
  inspect(): Promise<RuntimeFacts>;
  /** The program's own models as its latest session told them; null before. Absent where models are the gateway's. */
  models?(): OfferedModels | null;
  /** Whether a session that starts now gets a terminal. Absent where none ever does. */
  inTerminal?(): boolean;
}
