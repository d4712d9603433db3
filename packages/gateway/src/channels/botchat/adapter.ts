import { changesText } from "../support/outcome.ts";
import type { AdapterFactory } from "../types.ts";
import { createApi } from "./api.ts";
import { createLine } from "./connect.ts";
import { watchWebhook } from "./hook.ts";
import { fetchMedia } from "./media.ts";
import { poll } from "./poll.ts";
import { createProgress } from "./progress.ts";
import { createSend } from "./send.ts";

/** Three polls. */
const ALIVE_WITHIN_MS = 90_000;

/** Telegram, by long polling or by webhook. */
export const createAdapter: AdapterFactory = async ({ place, agent, publicUrl, commands, clock, log }) => {
  const settings = agent.botchat;
  const token = settings?.botToken;
  if (!settings || !token) throw new Error("botchat.botToken is not set.");
  const bot = createApi(token, settings, clock);
  const { api } = bot;
  const closed = new AbortController();
  const moved = new Map<string, string>();
  const line = createLine({ api, token, clock, log, commands });
  const progress = createProgress({ api, clock, moved, closed: closed.signal });
  const send = createSend({ sending: bot.sending, clock, moved });

  return {
    aliveWithinMs: ALIVE_WITHIN_MS,

    async connect(connection) {
      try {
        if (settings.mode === "webhook") {
          const { webhookSecret: secret } = settings;
          await watchWebhook(connection, { line, clock, agentId: place.agentId, publicUrl, secret });
        } else {
          await poll(connection, {
            line,
            apiBaseUrl: settings.apiBaseUrl,
            clock,
            log,
            onStored: ({ reply = {} }) => progress.acknowledge({ reply }),
            onMoved: (from, to) => void moved.set(from, to),
          });
        }
      } catch (error) {
        if (!connection.signal.aborted) throw error;
      }
    },

    send(outgoing, signal) {
      // By webhook, the gateway's first word to a pressed button may be the answer itself.
      progress.acknowledge(outgoing.target);
      return send(outgoing, signal);
    },

    working(target) {
      progress.acknowledge(target);
      return progress.working(target);
    },

    repeatable: changesText,
    edit: progress.edit,
    fetchMedia: (media, signal) => fetchMedia(bot, media, signal),

    async close() {
      closed.abort();
    },
  };
};
