import type { AgentConfig } from "../../config/index.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { EndedTurn, TurnEnd } from "../../lib/turn-ends.ts";
import type { Change, Store } from "../../store/index.ts";
import type { Delivery } from "../delivery/index.ts";
import type { ChannelStep } from "../steps.ts";
import type { AccessPort, ChannelAdapter, ChannelPlace, Content, InboundMessage } from "../types.ts";
import type { Command, CommandText } from "./commands.ts";

/** Fetched files of a message, and how they are described to the agent. */
export interface FetchedMedia {
  meta: Readonly<Record<string, string>>;
  /** Notes about files that could not be fetched; empty if there are none. */
  text: string;
  /** Media paths of files that agents can read. */
  mediaFiles: readonly string[];
}

/** What intake needs from the sessions room. */
export interface SessionsPort {
  find(agentId: string, chatId: string, sessionId: string): Promise<{ uuid: string } | undefined>;
  latest(agentId: string, chatId: string): Promise<{ uuid: string } | undefined>;
  /** True while no turn can begin in the session. */
  isBusy(sessionId: string): boolean;
  /** Resolves to true when the session is not busy, or to false after `ms` or when `signal` aborts. */
  idle(agentId: string, sessionId: string, limits: { ms: number; signal: AbortSignal }): Promise<boolean>;
  /**
   * Resolves to true when a turn of the session (without an id: of a new one) can begin, or to false after `ms`, when
   * `signal` aborts, or as soon as the session is busy.
   */
  vacancy(
    agentId: string,
    sessionId: string | undefined,
    limits: { ms: number; signal: AbortSignal },
  ): Promise<boolean>;
  send(incoming: {
    agent: AgentConfig;
    requestId: string;
    chatId: string;
    sessionId?: string | undefined;
    text: string;
    told: string;
    mediaFiles: readonly string[];
    senderName?: string | undefined;
    softMs: number;
    kind: "channel";
    again?: number | undefined;
    also: (stored: { sessionId: string; message: number | undefined }) => readonly Change<unknown>[];
    closing: (end: TurnEnd) => readonly Change<unknown>[];
  }): Promise<{
    done: Promise<EndedTurn>;
    log: { readonly text: string; readonly trouble: string | undefined };
  }>;
}

export interface IntakeDeps {
  store: Pick<Store, "inbox" | "commit" | "forAgent">;
  clock: Clock;
  log: Logger;
  agent(agentId: string): AgentConfig | undefined;
  /** False for an agent of another gateway: its messages are only stored. */
  serves(agentId: string): boolean;
  adapter(place: ChannelPlace): ChannelAdapter | undefined;
  access: AccessPort;
  delivery: Delivery;
  sessions: SessionsPort;
  /** Throws `UNKNOWN_COMMAND`. */
  parseCommand(text: string): Command | undefined;
  /** `back` is called when the process that a `/restart` started is there. */
  runCommand(
    agent: AgentConfig,
    chatId: string,
    command: Command,
    back: () => void,
  ): Promise<Record<string, unknown>>;
  /** Answers `/cli`; undefined where the agent has no such command. */
  cli(agent: AgentConfig, place: ChannelPlace, message: InboundMessage): Promise<CommandText | undefined>;
  commands: readonly { name: string; description: string }[];
  /** Those that the agent has besides, in this channel. */
  ownCommands(
    agent: AgentConfig,
    channel: ChannelPlace["channel"],
  ): Promise<readonly { name: string; description: string }[]>;
  fetchMedia(
    adapter: ChannelAdapter | undefined,
    place: ChannelPlace,
    agent: AgentConfig,
    message: InboundMessage,
    signal: AbortSignal,
  ): Promise<FetchedMedia>;
  /** Splits a text into parts within the channel's limit, in order. */
  split(channel: ChannelPlace["channel"], markdown: string): string[];
  /** File behind an attachment of a reply. */
  attachment(agentId: string, url: string): Extract<Content, { kind: "file" }>;
  /** Called when messages arrive, when they are stored, and when the rules keep one from the agent. */
  onInbound(place: ChannelPlace): void;
  onStored(place: ChannelPlace): void;
  onDenied(place: ChannelPlace): void;
  step(label: ChannelStep): void;
}
