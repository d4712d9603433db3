import type { InboundMessage } from "../types.ts";

/** The bot's identity, needed to recognize mentions and replies. */
export interface BotIdentity {
  id: number;
  /** Without `@`. Unknown until the provider was asked once. */
  username?: string;
}

const known = new Map<string, BotIdentity>();

/** Remembers what the provider reported about the bot, because webhooks do not include it. */
export function rememberBot(token: string, identity: BotIdentity): void {
  known.set(token, identity);
}

/** What is known of the bot; a token begins with the bot's id (`123456:…`). */
export function botOf(token: string): BotIdentity {
  const remembered = known.get(token);
  if (remembered) return remembered;
  const id = /^(\d{1,15}):/.exec(token)?.[1];
  return { id: id === undefined ? 0 : Number(id) };
}

/** Who numbers a bot's updates: each server counts those of each bot by itself. */
export function sourceOf({ id }: BotIdentity, apiBaseUrl: string | undefined): string {
  return apiBaseUrl === undefined ? String(id) : `${id}@${new URL(apiBaseUrl).host}`;
}

/** The message, told apart from one that another source gave the same number. */
export const numberedBy = (source: string, message: InboundMessage): InboundMessage => ({
  ...message,
  eventId: `${source}:${message.eventId}`,
});
