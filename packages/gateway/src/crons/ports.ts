import type { AgentConfig, Config } from "../config/index.ts";
import type { Reaper } from "../lib/child-mark.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { EndedTurn, TurnEnd } from "../lib/turn-ends.ts";
import type { Change, Store } from "../store/index.ts";
import type { ChannelName, Target } from "./types.ts";

/** A running turn. */
export interface RunningTurn {
  readonly done: Promise<EndedTurn>;
  stop(): Promise<void>;
}

interface Limits {
  ms: number;
  signal: AbortSignal;
}

/** What crons need from the sessions room. */
export interface SessionsPort {
  find(agentId: string, chatId: string, sessionId: string): Promise<{ uuid: string } | undefined>;
  latest(agentId: string, chatId: string): Promise<{ uuid: string } | undefined>;
  isBusy(sessionId: string): boolean;
  idle(agentId: string, sessionId: string, limits: Limits): Promise<boolean>;
  vacancy(agentId: string, sessionId: string | undefined, limits: Limits): Promise<boolean>;
  send(incoming: {
    agent: AgentConfig;
    requestId: string;
    chatId: string;
    sessionId?: string | undefined;
    text: string;
    told: string;
    softMs: number;
    kind: "cron";
    once?: true | undefined;
    again?: number | undefined;
    also: (stored: { sessionId: string; message: number | undefined }) => readonly Change<unknown>[];
    closing: (end: TurnEnd) => readonly Change<unknown>[];
  }): Promise<RunningTurn>;
}

/** One account of a channel of an agent. */
export interface Place {
  agentId: string;
  channel: ChannelName;
  account: string;
}

/** What crons need from the channels. */
export interface PostsPort {
  /** Why a chat may get nothing, as the end of a sentence about it; undefined if it may. */
  refusal(agent: AgentConfig, target: Target): Promise<string | undefined>;
  placeFor(agent: AgentConfig, target: Target): Promise<Place>;
  add(place: Place, chatId: string, run: number, posted: TurnEnd | { cutOff: string }): Change;
  wake(place: Place, chatId: string): void;
}

/** What crons need from the feed. */
export interface FeedPort {
  event(told: { type: "cron.finished"; agentId: string; data: Readonly<Record<string, unknown>> }): Change;
}

/** The steps of a run between which a crash must lose nothing and repeat nothing. */
export type CronStep =
  | "before-tick-row"
  | "after-tick-row"
  | "before-command"
  | "after-command"
  | "after-run-row";

export interface CronDeps {
  store: Pick<Store, "crons" | "inbox" | "jobs" | "forAgent">;
  clock: Clock;
  log: Logger;
  config: () => Config;
  agent(agentId: string): AgentConfig | undefined;
  /** False for an agent of another gateway. */
  serves(agentId: string): boolean;
  sessions: SessionsPort;
  posts(): Promise<PostsPort>;
  feed: FeedPort;
  reaper: Reaper;
  /** Environment of the gateway. */
  env: Readonly<Record<string, string | undefined>>;
  /** Called after the commit of a look for due jobs. */
  planned(at: number): void;
  step(label: CronStep): void;
}
