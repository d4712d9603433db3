import type { ProgramTerminal, TurnOutcome } from "../runtimes/index.ts";
import type { TurnLog } from "./turn-log.ts";

/**
 * How a turn is repaired: with another process, by telling the same one again after an interrupt, or with a process
 * without a terminal, which the session keeps until it is restarted.
 */
export type Mend = "restart" | "resend" | "headless";

/** What can be seen of a running turn from outside. Times are those of the clock's `elapsed`. */
export interface TurnLook {
  /** `starting`: it waits for its process; `working`: the agent has the message; `mending`: it goes on differently. */
  phase: "starting" | "working" | "mending" | "over";
  /** When the program that it waits for, or that works on it, was started; undefined before. */
  startedAt: number | undefined;
  /** When the agent was last told the message. */
  toldAt: number | undefined;
  /** When the process last wrote anything, in this turn or before. */
  outputAt: number;
  /** When the agent last showed a sign of work in this turn; `toldAt` before. */
  heardAt: number;
  toolRuns: boolean;
  /** The process's terminal, if it runs in one. */
  terminal: ProgramTerminal | undefined;
  /** Something came of the turn: it is never told again. */
  produced: boolean;
}

/** A running turn, as whoever watches over it sees it. */
export interface WatchedTurn {
  readonly agentId: string;
  /** Stored chat id. */
  readonly chatId: string;
  readonly sessionId: string;
  readonly requestId: string;
  readonly kind: string;
  readonly log: Pick<TurnLog, "append">;
  /** When it began, by the clock's `elapsed`. */
  readonly begunAt: number;
  look(): TurnLook;
  /**
   * Tells the message again, unless something comes of the turn until its process is quiet: then the turn ends with that.
   * Resolves when it is decided, to false if the turn has ended by itself.
   */
  mend(how: Mend): Promise<boolean>;
  /** The end of what its latest process wrote to stderr. */
  stderrTail(): string;
}

/** Whoever watches over running turns. Nothing of it may throw or reject. */
export interface WatchPort {
  /** A turn has begun. */
  began(): void;
  /** The process of a turn is gone, and nobody has stopped the turn. Resolves to whether another process gets the message. */
  exited(turn: WatchedTurn, outcome: TurnOutcome): Promise<boolean>;
  /** A turn has ended; its log takes what is appended now before its last event. */
  ended(turn: WatchedTurn, status: "done" | "interrupted" | "failed" | "timeout"): void;
}
