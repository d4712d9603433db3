import { GatewayError } from "@agent-gateway/contract";
import { noFile, openDownload } from "../support/download.ts";
import { jsonOf } from "../support/exchange.ts";
import { MAX_INBOUND_BYTES } from "../support/inbound-limit.ts";
import { numberOf, textOf } from "../support/payload.ts";
import type { AdapterFactory, Target } from "../types.ts";
import { createApi, PROVIDER } from "./api.ts";
import { createSender } from "./send.ts";

/** The typing indicator goes away after 25 s. */
const TYPING_AGAIN_MS = 20_000;
const BEST_EFFORT_MS = 10_000;
/** How long reactions that are being removed may hold up the end. */
const CLOSING_MS = 1_000;
const AT_WORK = "⏳";
const ignore = () => {};

/** A number at the Cloud API: messages arrive by webhook, so there is nothing to connect to. */
export const createAdapter: AdapterFactory = async ({ agent, clock }) => {
  const settings = agent.cloudchat;
  if (!settings) throw new GatewayError("UNAVAILABLE", "cloudchat is not configured.");
  const api = createApi(settings, clock);
  const closing = new AbortController();
  const pending = new Set<Promise<void>>();

  /** Nothing waits for courtesy calls. */
  const courtesy = (body: object, after?: Promise<void>): Promise<void> => {
    const task = Promise.resolve(after)
      .then(() => api.message(body, closing.signal, { timeoutMs: BEST_EFFORT_MS }))
      .then(ignore, ignore);
    pending.add(task);
    void task.then(() => pending.delete(task));
    return task;
  };
  const react = ({ chatId, messageId }: Target, emoji: string, after?: Promise<void>) =>
    courtesy(
      {
        recipient_type: "individual",
        to: chatId,
        type: "reaction",
        reaction: { message_id: messageId, emoji },
      },
      after,
    );
  const read = (messageId: string, more: object = {}) =>
    courtesy({ status: "read", message_id: messageId, ...more });

  return {
    send: createSender({ api, settings, clock }),

    markRead({ messageId }) {
      if (settings.sendReadReceipts && messageId !== undefined) void read(messageId);
    },

    working(target) {
      const { messageId } = target;
      if (messageId === undefined) return () => {};
      // The provider shows typing only together with the receipt.
      const type = () => void read(messageId, { typing_indicator: { type: "text" } });
      if (settings.sendReadReceipts) type();
      const stopTyping = settings.sendReadReceipts ? clock.every(TYPING_AGAIN_MS, type) : () => {};
      const reacted = settings.reactionLevel === "ack" ? react(target, AT_WORK) : undefined;
      return () => {
        stopTyping();
        if (reacted) void react(target, "", reacted);
      };
    },

    async fetchMedia({ ref }, signal) {
      const answer = await api.get(encodeURIComponent(String(ref.id)), signal).catch(() => {
        throw noFile(`${PROVIDER} could not be reached`);
      });
      const file = answer.status === 200 ? jsonOf(answer) : undefined;
      const url = textOf(file?.url);
      if (url === undefined) throw noFile(`${PROVIDER} did not hand it out (${answer.status})`);
      if (!api.trusts(url)) throw noFile(`${PROVIDER} stores it at an address that is not its own`);
      if ((numberOf(file?.file_size) ?? 0) > MAX_INBOUND_BYTES) throw new GatewayError("PAYLOAD_TOO_LARGE");
      return openDownload({ url, headers: api.headers, signal, provider: PROVIDER });
    },

    async close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = clock.after(CLOSING_MS, resolve);
      await Promise.race([Promise.all(pending), promise]);
      cancel();
      closing.abort();
    },
  };
};
