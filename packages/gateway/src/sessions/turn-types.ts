import type { AgentConfig } from "../config/index.ts";
import type { Statement } from "../db/index.ts";
import type { InputFile, RuntimeSession } from "../runtimes/types.ts";
import type { MessageExtra, SessionRow } from "./store.ts";
import type { TurnLog } from "./turn-log.ts";
import type { TurnResult } from "./turn-result.ts";

/** Who started a turn; stored with it. */
export type TurnKind = "message" | "greeting" | "injection" | "compact" | "channel";

/** Why a turn was interrupted. */
export type StopReason = "stop" | "timeout" | "silent" | "shutdown";

/** How a turn ends, for whoever stores something together with its end. */
export interface TurnEnding {
  result: TurnResult;
  reason: StopReason | undefined;
  /** False when nothing at all came from the agent: the turn can run again as if it never had. */
  produced: boolean;
}

export interface TurnRequest {
  agent: AgentConfig;
  /** The session, or the ids of a new one (created in the same transaction as the message). */
  session: SessionRow | { chat_id: string; uuid: string; id: undefined };
  requestId: string;
  kind: TurnKind;
  /** What the agent is told. */
  text: string;
  files?: readonly InputFile[];
  /** What history keeps of it; undefined stores no user message. */
  store?: { content: string; extra: MessageExtra; media: readonly string[] };
  /** Further statements of the first transaction. */
  also?: readonly Statement[];
  /** Statements that go to disk together with the end of the turn; a crash before calls `SessionDeps.cutOff`. */
  closing?: (ending: TurnEnding) => readonly Statement[];
  /** The agent is told no message above this one: those of an earlier run of the same turn. */
  uptoId?: number;
  /** Done in place of asking the agent; where it gives no text, the agent is asked after all. */
  act?: (runtime: RuntimeSession) => Promise<{ summary: string | null } | null>;
  /** The caller holds the session itself; nobody else's turn begins in it. */
  holds?: boolean;
  /** The turn is interrupted after this and `hardCapMs` more. */
  softMs: number;
}

/** A running or just finished turn. */
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
