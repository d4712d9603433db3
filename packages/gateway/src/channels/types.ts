import type { Readable } from "node:stream";
import type { AgentConfig } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

export const CHANNELS = ["botchat", "guildchat", "devicechat", "cloudchat", "sigchat", "teamchat"] as const;
export type ChannelName = (typeof CHANNELS)[number];

/** Plain data that survives a round trip through the database. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** One connection to a provider: an agent's channel or, for `devicechat`, one of its accounts. */
export interface ChannelPlace {
  agentId: string;
  channel: ChannelName;
  /** Account of `devicechat`; the empty string elsewhere. */
  account: string;
}

/** A file that came with a message, not fetched yet. */
export interface InboundMedia {
  kind: "image" | "document" | "voice" | "audio" | "video";
  /** What the adapter needs to fetch it, also after a restart. */
  ref: JsonObject;
  name?: string;
  mime?: string;
  /** Size in bytes, if the provider reports it. */
  size?: number;
}

/** A provider's message in the gateway's format. Stored in the inbox as it is. */
export interface InboundMessage {
  /** The provider's id of the event: the inbox takes each only once. */
  eventId: string;
  /** Provider's id of the chat; the stored chat id is `<channel>-<chatId>`. */
  chatId: string;
  kind: "dm" | "group" | "room";
  /** Id for the group allowlist: guild, group, room or channel. Absent in a direct message. */
  groupId?: string;
  /** Stable id of the sender. */
  senderId: string;
  /** Further stable ids of the same sender that an allowlist may contain (a phone-number JID beside a `@lid`). */
  senderAliases?: readonly string[];
  senderName?: string;
  text: string;
  /** True in direct messages, and if the bot was mentioned or replied to. */
  mentioned: boolean;
  /** Provider's id of the message, for replies, reactions and receipts. */
  messageId?: string;
  /** Identifies a message that arrives as several events: the inbox takes it only once per chat. */
  messageKey?: string;
  /** When the sender sent it, Unix ms. */
  sentAt?: number;
  media?: readonly InboundMedia[];
  /** What a reply needs besides the chat: reply token, thread, topic, message to quote. */
  reply?: JsonObject;
  /** Shown to the agent as attributes of the message. */
  meta?: { readonly [name: string]: string };
}

/** Destination of an outgoing message. */
export interface Target {
  chatId: string;
  /** {@link InboundMessage.reply} of the message that is answered. */
  reply: JsonObject;
  /** Provider's id of the message that is answered. */
  messageId?: string;
  /** When that message arrived, Unix ms: reply tokens expire. */
  receivedAt: number;
  /** Index of the message within a reply of several; absent for the first. */
  part?: number;
}

export interface Button {
  label: string;
  /** Slash command that runs when the button is pressed. */
  command: string;
}

/** A page inside of the chat's app. */
export interface WebApp {
  label: string;
  url: string;
}

/** One thing to send; fits the provider's limits. */
export type Content =
  | {
      kind: "text";
      /** Markdown, already split; the adapter renders it, or sends its `plainOf` form when `plain`. */
      text: string;
      /** Set when the provider refused the markup. */
      plain?: boolean;
      buttons?: readonly Button[];
      /** A button that opens a page inside of the chat's app; `botchat` alone shows it. */
      webApp?: WebApp;
    }
  | {
      kind: "file";
      /** Absolute path. */
      path: string;
      mime: string;
      name: string;
      /** Send an image as a file, uncompressed. */
      asDocument?: boolean;
      caption?: string;
    };

/** One message as its row has it. */
export interface Sendable {
  target: Target;
  content: Content;
  /** The same for every attempt at this row: an idempotency key (a UUID) for providers that support one. */
  key: string;
  /** Provider id of an earlier message that this text replaces. */
  replaces?: string;
  /** Set when an earlier attempt may have arrived: start of the first such attempt, Unix ms. */
  uncertainAt?: number;
}

/** One message on its way. */
export interface Outgoing extends Sendable {
  /**
   * To be called right before a request goes out by which the message may arrive, after all that prepares it: a killed
   * gateway knows by it what was surely not sent. Throws when the request may not be made.
   */
  begin(): void;
}

/**
 * Outcome of one attempt.
 * - `sent`: the provider accepted it.
 * - `retry`: it certainly did not (429, 5xx answered in full, connection refused); repeat after `afterMs`.
 * - `markup`: it refused the markup; repeat as plain text.
 * - `failed`: it certainly refused, and would again.
 * - `unknown`: the connection broke, or no answer came in time, after the request was written. Repeated only if the
 *   the adapter says that it cannot arrive twice, and not when `final`.
 */
export type SendOutcome =
  | { status: "sent"; messageId?: string }
  | { status: "retry"; reason: string; afterMs?: number }
  | { status: "markup"; reason: string }
  | { status: "failed"; reason: string }
  | { status: "unknown"; reason: string; final?: true };

/** What a connection reports to the gateway while it is open. */
export interface Connection {
  /** Aborted when the connection has to end; `connect` then resolves soon, with its socket closed. */
  readonly signal: AbortSignal;
  /** Proof of inbound life: a poll was answered, a heartbeat acknowledged. Call it each time. */
  alive(): void;
  /** Nothing to connect to until something happens (no number is linked): silence is fine from now on. */
  rest(): void;
  /**
   * Stores messages in the inbox; resolves when they are on disk (known ones are dropped). Only then may they be
   * acknowledged to the provider. Rejects when they could not be stored.
   */
  receive(messages: readonly InboundMessage[]): Promise<void>;
  /** Position in the provider's stream of events, kept across restarts. */
  position(): string | undefined;
  savePosition(value: string): Promise<void>;
}

/** One account's link to its provider. Created when the channel is enabled, closed when its settings change. */
export interface ChannelAdapter {
  /**
   * For channels that the gateway connects: runs one connection until it ends. Rejects with a user-facing message if
   * the connection breaks. The supervisor calls it again after a pause, never twice at a time.
   */
  connect?(connection: Connection): Promise<void>;
  /** Longest silence of a live connection, ms; after that the supervisor ends it and reconnects. */
  readonly aliveWithinMs?: number;
  /** One attempt. Never rejects; automatic retries of the library are off. Ends within 60 s. */
  send(outgoing: Outgoing, signal: AbortSignal): Promise<SendOutcome>;
  /**
   * True when a message that an earlier attempt may have delivered (`uncertainAt`) can be sent again and still arrive
   * only once: the provider knows the key, or sets the same text again. Absent if that is never the case.
   */
  repeatable?(message: Sendable): boolean;
  /** Shows that the agent works on the message (typing, a reaction); the result ends it. Never throws. */
  working?(target: Target): () => void;
  /** Changes the text of a sent message, best effort: progress of a long turn. */
  edit?(target: Target, messageId: string, text: string): Promise<void>;
  /**
   * Opens an inbound file. Rejects with a user-facing message if it cannot; the caller stops at 20 MB.
   */
  fetchMedia?(media: InboundMedia, signal: AbortSignal): Promise<Readable>;
  /**
   * The sender's name, for messages that came without one: one line, at most 64 characters. Within 1.5 s; undefined if
   * the provider does not report it. Never rejects.
   */
  nameOf?(message: InboundMessage): Promise<string | undefined>;
  /** Marks a message as read, once it is accepted. Best effort. */
  markRead?(target: Target): void;
  /** Frees the adapter's resources; its connection has already ended. */
  close(): Promise<void>;
}

/** What an adapter is created from. */
export interface AdapterContext {
  place: ChannelPlace;
  /** The agent with its variables resolved; the channel's block is `agent[channel]`. */
  agent: AgentConfig;
  /** Folder for linked credentials: `<workspace>/.<channel>-state` (accounts of `devicechat`: one below it). */
  stateDir: string;
  /** Folder for a library's short-lived files; emptied at each start. May not exist yet. */
  tempDir: string;
  /** Public base URL, if there is one (webhook mode). */
  publicUrl: string | undefined;
  commands: readonly { name: string; description: string }[];
  /** Creates a short-lived public https link to a file, for providers that fetch images themselves; undefined without one. */
  publicLink?: (path: string) => Promise<string | undefined>;
  clock: Clock;
  log: Logger;
}

/** What `channels/<name>/index.ts` exports as `createAdapter`; loaded when the first agent enables the channel. */
export type AdapterFactory = (context: AdapterContext) => Promise<ChannelAdapter>;

/** A webhook request with its raw body. */
export interface WebhookRequest {
  method: "GET" | "POST";
  headers: Readonly<Record<string, string | string[] | undefined>>;
  query: URLSearchParams;
  body: Buffer;
}

/** A provider's later report about a message that it accepted. */
export interface Receipt {
  /** Provider's id of the message. */
  messageId: string;
  /** {@link Sendable.key} of the message, if the provider returns it. */
  key?: string;
  state: "sent" | "delivered" | "read" | "failed";
  /** Why it failed, in the provider's words. */
  reason?: string;
}

/** What a webhook request means. Messages are stored before the reply goes out. */
export type WebhookVerdict =
  | { status: 401 | 403; error: string }
  | { status: 400; error: string }
  | {
      status: 200;
      json: { ok: true } | { challenge: string };
      messages?: readonly InboundMessage[];
      receipts?: readonly Receipt[];
    }
  | { status: 200; text: string; messages?: readonly InboundMessage[]; receipts?: readonly Receipt[] };

/** Verifies and parses one provider's webhooks; pure, so easy to test. `channels/<name>/webhook.ts`. */
export interface WebhookChannel {
  /** True when the agent has the channel enabled with the secret that signs its webhooks. */
  enabled(agent: AgentConfig): boolean;
  /** The reply to a request that carries no data and needs no proof, whether or not an agent has the channel. */
  greet?(request: WebhookRequest): WebhookVerdict | undefined;
  /** `now` is Unix ms. The signature is checked before anything else in the body. */
  handle(request: WebhookRequest, agent: AgentConfig, now: number): WebhookVerdict;
}

/**
 * What the current policies say about a message. `ignore`: dropped unseen (policy `disabled`, a required mention is
 * missing, no pairing). `knock`: a denied sender or group, which is recorded and may get a pairing code. `later`: the
 * rules cannot be read now, and the message waits until they can.
 */
export type Decision = "allow" | "ignore" | "knock" | "later";

/** What intake needs from the access rules. */
export interface AccessPort {
  decide(place: ChannelPlace, agent: AgentConfig, message: InboundMessage): Promise<Decision>;
  /** Whether the rules of a place can be read. */
  readable(place: ChannelPlace, agent: AgentConfig): Promise<boolean>;
  /**
   * Records a denied message; resolves to the text to reply with (the pairing code), or undefined for silence. Rejects
   * with `CONFLICT` while the rules cannot be read.
   */
  knock(place: ChannelPlace, agent: AgentConfig, message: InboundMessage): Promise<string | undefined>;
  /** What to do for an allowed message besides its turn: capture under the policy `open`. */
  admit(place: ChannelPlace, agent: AgentConfig, message: InboundMessage): Promise<void>;
}
