import { deadline } from "../support/exchange.ts";
import { createNames } from "../support/names.ts";
import { changesText } from "../support/outcome.ts";
import type { AdapterFactory } from "../types.ts";
import { clientFor } from "./client.ts";
import { openFile } from "./media.ts";
import { change, send } from "./send.ts";
import { createWorking } from "./working.ts";

const CALL_MS = 10_000;

/** A Slack app: events arrive by webhook, so there is nothing to connect to. */
export const createAdapter: AdapterFactory = async ({ agent, clock, log }) => {
  const settings = agent.teamchat ?? {};
  const closing = new AbortController();
  const names = createNames({ clock, signal: closing.signal });

  return {
    send: (outgoing, signal) => send(settings, clock, outgoing, signal),
    repeatable: changesText,

    working: createWorking(settings, clock, log, closing.signal),

    async edit({ chatId }, messageId, text) {
      const late = deadline(clock, CALL_MS, closing.signal);
      await change(clientFor(settings, late.signal), chatId, messageId, { kind: "text", text }).catch(
        () => {},
      );
      late.end();
    },

    nameOf: ({ senderId }) =>
      names(senderId, async (signal) => {
        const { user } = await clientFor(settings, signal).users.info({ user: senderId });
        return user?.profile?.display_name || user?.real_name || user?.name;
      }),

    fetchMedia: (media, signal) => openFile(settings, media, signal),

    async close() {
      closing.abort();
    },
  };
};
