import type { IncidentAction, IncidentOutcome, IncidentStage } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

/** `gateway.selfHealing`. */
export interface HealingSettings {
  enabled: boolean;
  autoRecover: boolean;
  stages: readonly IncidentStage[];
  maxPerTurn: number;
  cooldownSeconds: number;
  quietSeconds: number;
  readySeconds: number;
}

/** What is to be seen of a running turn; times are those of the clock's `elapsed`. */
export interface Look {
  phase: "starting" | "working" | "mending" | "over";
  startedAt: number | undefined;
  toldAt: number | undefined;
  outputAt: number;
  heardAt: number;
  toolRuns: boolean;
  produced: boolean;
  terminal: Terminal | undefined;
}

/** A program's terminal, as far as the watchdog uses it. */
export interface Terminal {
  reading(): Promise<Screen>;
  screen(): Promise<{ text: string }>;
  printedAt(): number;
  press(key: "escape" | "answer"): Promise<boolean>;
}

/** What a screen says of its program. */
export interface Screen {
  ready: boolean;
  busy: boolean;
  dialog: string | null;
}

/** A running turn. */
export interface Watched {
  readonly agentId: string;
  /** Stored chat id. */
  readonly chatId: string;
  readonly sessionId: string;
  readonly requestId: string;
  readonly kind: string;
  readonly begunAt: number;
  readonly log: { append(event: IncidentFrame): void };
  look(): Look;
  mend(how: "restart" | "resend" | "headless"): Promise<boolean>;
  stderrTail(): string;
}

/** What a turn's stream is told. */
export interface IncidentFrame {
  type: "incident";
  stage: IncidentStage;
  action: IncidentAction | null;
  outcome: IncidentOutcome;
}

export interface HealingDeps {
  settings(): HealingSettings;
  running(): readonly Watched[];
  clock: Clock;
  log: Logger;
  /** Tells the feed. */
  tell(event: {
    type: "incident.opened" | "incident.closed";
    agentId: string;
    data: Readonly<Record<string, unknown>>;
  }): void;
  /** Says a sentence in the chat of the turn, if it is one of a channel. */
  say(requestId: string, sentence: string): void;
  /** Questions on a screen are left to people. */
  leavesDialogs: boolean;
  /** Masks known secrets. */
  mask(text: string): string;
}
