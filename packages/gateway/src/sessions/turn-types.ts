import type { AgentConfig } from "../config/index.ts";
import type { HistoryEntry, InputFile, RuntimeSession } from "../runtimes/index.ts";
import type { Change, MessageExtra, SessionRow } from "../store/index.ts";
import type { Wishes } from "./ports.ts";
import type { TurnLog } from "./turn-log.ts";
import type { StopReason, TurnResult } from "./turn-result.ts";

export type { StopReason };

/** Who started a turn; stored with it. */
export type TurnKind = "message" | "greeting" | "injection" | "compact" | "channel" | "cron";

/** How a turn ends, for callers that store something together with its end. */
export interface TurnEnding {
  result: TurnResult;
  reason: StopReason | undefined;
  /** False when the agent sent nothing at all: the turn can run again as if it had never begun. */
  produced: boolean;
}

export interface TurnRequest {
  agent: AgentConfig;
  /** The session, or the ids of a new one (created in the same transaction as the message). */
  session: SessionRow | { chat_id: string; uuid: string; id: undefined };
  requestId: string;
  kind: TurnKind;
  /** The API key that caused it, if any. */
  keyId?: string | null | undefined;
  /** The text for the agent. */
  text: string;
  files?: readonly InputFile[];
  /** The text that history keeps; if undefined, no user message is stored. */
  store?: { content: string; extra: MessageExtra; media: readonly string[] };
  /**
   * The conversation so far as the caller tells it; nothing of the session's own is used. A new session keeps it as its
   * beginning; in another it serves this turn alone, in a process that ends with the turn.
   */
  history?: readonly HistoryEntry[] | undefined;
  wishes?: Wishes;
  /** Further changes of the unit that begins the turn; `message` is the id of the user message, if one is stored. */
  also?: (message: number | undefined) => readonly Change<unknown>[];
  /** Changes committed together with the end of the turn; after an earlier crash, `SessionDeps.cutOff` is called. */
  closing?: (ending: TurnEnding) => readonly Change<unknown>[];
  /** Nobody is expected to go on with the session: its process ends with the turn. */
  once?: true | undefined;
  /** Id of the user message that an earlier run of the same turn stored. */
  again?: number | undefined;
  /** Runs instead of asking the agent; if it returns no text, the agent is asked after all. */
  act?: (runtime: RuntimeSession) => ReturnType<RuntimeSession["compact"]>;
  /** The caller itself holds the session; no other turn begins in it. */
  holds?: boolean;
  /** The turn is interrupted after this time plus `hardCapMs`. */
  softMs: number;
}

/** A running or recently finished turn. */
export interface Turn {
  readonly log: TurnLog;
  readonly requestId: string;
  readonly sessionId: string;
  readonly agentId: string;
  readonly kind: TurnKind;
  /** Resolves when the user message is on disk; rejects when the turn could not start. */
  readonly started: Promise<void>;
  /** Resolves when everything is stored and the last event is in the log. Never rejects. */
  readonly done: Promise<TurnResult>;
  /** Interrupts; resolves when the turn is over. */
  stop(reason?: StopReason): Promise<void>;
}
