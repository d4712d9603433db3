import { sleep } from "../../lib/clock.ts";
import { changesText } from "../support/outcome.ts";
import type { AdapterFactory } from "../types.ts";
import { connect } from "./connect.ts";
import { openMedia } from "./media.ts";
import { isId } from "./parse.ts";
import { createApi } from "./rest.ts";
import { send, textPayload } from "./send.ts";

/** Heartbeats go every 41 s; each is acknowledged. */
const ALIVE_WITHIN_MS = 120_000;
/** Discord shows that somebody types for 10 s. */
const TYPING_MS = 8_000;
const CALL_MS = 10_000;
/**
 * Discord takes a nonce once in "the past few minutes".
 * Source: https://docs.discord.com/developers/resources/message#create-message
 */
const NONCE_MS = 120_000;

/** Times of the last logins by bot token, over all adapters. */
const logins = new Map<string, number>();

/** The Discord adapter. */
export const createAdapter: AdapterFactory = async ({ agent, commands, clock }) => {
  const { botToken, apiBaseUrl, gatewayUrl } = agent.guildchat ?? {};
  if (botToken === undefined) throw new Error("The Discord bot token is not set.");
  const api = createApi({ botToken, apiBaseUrl, clock });
  const closed = new AbortController();

  return {
    aliveWithinMs: ALIVE_WITHIN_MS,
    connect: (connection) =>
      connect({ api, clock, token: botToken, gatewayUrl, commands, logins }, connection),
    send: (outgoing, signal) => send(api, outgoing, signal),
    repeatable: (outgoing) => changesText(outgoing) || clock.now() - (outgoing.uncertainAt ?? 0) < NONCE_MS,

    working({ chatId }) {
      const done = new AbortController();
      const signal = AbortSignal.any([done.signal, closed.signal]);
      const type = async () => {
        while (isId(chatId) && !signal.aborted) {
          const result = await api.call("POST", `/channels/${chatId}/typing`, { signal, ms: CALL_MS });
          if (result.kind === "refused" && result.status < 500) return;
          await sleep(clock, TYPING_MS, signal);
        }
      };
      void type();
      return () => done.abort();
    },

    async edit({ chatId }, messageId, text) {
      if (!isId(chatId) || !isId(messageId)) return;
      const body = { ...textPayload({ kind: "text", text }), allowed_mentions: { parse: [] } };
      await api.call("PATCH", `/channels/${chatId}/messages/${messageId}`, {
        body,
        signal: closed.signal,
        ms: CALL_MS,
      });
    },

    fetchMedia: (media, signal) => openMedia({ api, apiBaseUrl, now: clock.now() }, media, signal),

    async close() {
      closed.abort();
      api.close();
    },
  };
};
