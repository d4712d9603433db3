import { type Api, GrammyError } from "grammy/web";
import type { Clock } from "../../lib/clock.ts";
import type { Target } from "../types.ts";
import { MARKUP, refused } from "./answer.ts";
import { type CallSignal, within } from "./api.ts";
import { replyPlace } from "./parse.ts";
import { placeOf } from "./place.ts";
import { textOf } from "./text.ts";

/** Telegram shows an action for five seconds: https://core.telegram.org/bots/api#sendchataction */
const ACTION_MS = 4_500;
/** No turn is longer. */
const MAX_WORKING_MS = 20 * 60_000;
const CALL_MS = 10_000;
/** Queries that were acknowledged, remembered so that each is only once. */
const MAX_ACKNOWLEDGED = 1_000;

export interface ProgressDeps {
  api: Api;
  clock: Clock;
  moved: ReadonlyMap<string, string>;
  /** Aborted when the adapter is closed. */
  closed: AbortSignal;
}

/** Signs of work in progress. All best effort: nothing here throws. */
export function createProgress({ api, clock, moved, closed }: ProgressDeps) {
  const acknowledged = new Set<string>();

  /** Resolves to the error, if any. */
  const quietly = (call: (signal: CallSignal) => Promise<unknown>): Promise<unknown> =>
    within(clock, CALL_MS, closed, call).then(
      () => undefined,
      (error: unknown) => error,
    );

  return {
    /** Acknowledges a pressed button to Telegram, once; until then it shows a clock on it. */
    acknowledge({ reply }: Pick<Target, "reply">): void {
      const { callback } = replyPlace(reply);
      if (callback === undefined || acknowledged.has(callback)) return;
      if (acknowledged.size >= MAX_ACKNOWLEDGED) acknowledged.clear();
      acknowledged.add(callback);
      void quietly((signal) => api.raw.answerCallbackQuery({ callback_query_id: callback }, signal));
    },

    /** Shows "typing" until it is ended, Telegram refuses it, or the longest turn is over. */
    working(target: Target): () => void {
      const { chat_id, message_thread_id } = placeOf(target, moved);
      const started = clock.elapsed();
      let waiting = false;
      const show = async () => {
        if (waiting) return;
        if (closed.aborted || clock.elapsed() - started > MAX_WORKING_MS) return end();
        waiting = true;
        const problem = await quietly((signal) =>
          api.raw.sendChatAction(
            {
              chat_id,
              action: "typing",
              ...(message_thread_id !== undefined && { message_thread_id }),
            },
            signal,
          ),
        );
        waiting = false;
        if (problem instanceof GrammyError && problem.error_code < 500) end();
      };
      const end = clock.every(ACTION_MS, () => void show());
      void show();
      return end;
    },

    async edit(target: Target, messageId: string, text: string): Promise<void> {
      const { chat_id } = placeOf(target, moved);
      const change = (plain: boolean) =>
        quietly((signal) =>
          api.raw.editMessageText(
            {
              chat_id,
              message_id: Number(messageId),
              link_preview_options: { is_disabled: true },
              ...textOf(text, plain),
            },
            signal,
          ),
        );
      if (refused(await change(false), MARKUP)) await change(true);
    },
  };
}
