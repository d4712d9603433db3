import type { messagingApi } from "@line/bot-sdk";
import type { Clock } from "../../lib/clock.ts";
import { type Answer, deadline, jsonOf } from "../support/exchange.ts";
import { outcomeOfStatus, outcomeOfThrown, retryAfterMs, SEND_TIMEOUT_MS } from "../support/outcome.ts";
import type { Outgoing, Sendable, SendOutcome, Target } from "../types.ts";
import { type Api, PROVIDER } from "./api.ts";
import { messagesOf, type PublicLink } from "./messages.ts";

/**
 * A reply token is valid for a minute, and once.
 * Source: https://developers.line.biz/en/reference/messaging-api/#send-reply-message
 */
const TOKEN_MS = 50_000;
/**
 * LINE knows the key of a push for 24 hours.
 * Source: https://developers.line.biz/en/docs/messaging-api/retrying-api-request/
 */
const KEY_MS = 23 * 3_600_000;
const TAKEN_OR_OVER = "The message may have arrived: LINE does not accept its reply token again.";

/** The reply token where a message is sent with it at this time: the first of an answer, soon enough. */
function tokenAt({ reply, receivedAt, part }: Target, at: number): string | undefined {
  const { replyToken } = reply;
  const good = typeof replyToken === "string" && replyToken !== "" && part === undefined;
  return good && at - receivedAt <= TOKEN_MS ? replyToken : undefined;
}

/** True when LINE takes a message of which an earlier attempt may have arrived only once: by its token, or by its key. */
export function repeatable({ target, uncertainAt = 0 }: Sendable, now: number): boolean {
  if (tokenAt(target, uncertainAt) !== undefined) return tokenAt(target, now) !== undefined;
  return now - uncertainAt < KEY_MS;
}

export interface SenderDeps {
  api: Api;
  clock: Clock;
  publicLink: PublicLink | undefined;
}

/** One attempt: a reply while the token is valid, else a push, which counts toward the account's monthly messages. */
export function createSender({ api, clock, publicLink }: SenderDeps) {
  const reply = async (
    replyToken: string,
    messages: messagingApi.Message[],
    { begin }: Outgoing,
    signal: AbortSignal,
  ): Promise<SendOutcome | "refused"> => {
    const body: messagingApi.ReplyMessageRequest = { replyToken, messages };
    try {
      const answer = await api.post("/v2/bot/message/reply", body, signal, { begin });
      // Whatever else it is that was refused, a push says so again.
      const refused = answer.status === 400 || answer.status === 404 || answer.status === 410;
      return refused ? "refused" : outcomeOfAnswer(answer, clock.now());
    } catch (error) {
      return outcomeOfThrown(error);
    }
  };

  const push = async (
    messages: messagingApi.Message[],
    { target, key, begin }: Outgoing,
    signal: AbortSignal,
  ): Promise<SendOutcome> => {
    const body: messagingApi.PushMessageRequest = { to: target.chatId, messages };
    try {
      const headers = { "x-line-retry-key": key };
      const answer = await api.post("/v2/bot/message/push", body, signal, { headers, begin });
      // An earlier attempt with this key was taken.
      if (answer.status === 409) return { status: "sent", ...idOf(answer) };
      return outcomeOfAnswer(answer, clock.now());
    } catch (error) {
      return outcomeOfThrown(error);
    }
  };

  return async (outgoing: Outgoing, parent: AbortSignal): Promise<SendOutcome> => {
    const { target, content, replaces, uncertainAt } = outgoing;
    if (replaces !== undefined) return { status: "failed", reason: "LINE cannot change a message." };
    const { signal, end } = deadline(clock, SEND_TIMEOUT_MS, parent);
    try {
      const messages = await messagesOf(content, publicLink);
      const token = tokenAt(target, clock.now());
      const replied = token === undefined ? "refused" : await reply(token, messages, outgoing, signal);
      if (replied !== "refused") return replied;
      // LINE accepted the first attempt, or its token has expired: a push might deliver it twice.
      if (uncertainAt !== undefined && tokenAt(target, uncertainAt) !== undefined) {
        return { status: "unknown", reason: TAKEN_OR_OVER, final: true };
      }
      return await push(messages, outgoing, signal);
    } catch {
      return { status: "retry", reason: "The gateway could not prepare the message for LINE." };
    } finally {
      end();
    }
  };
}

const saidBy = (answer: Answer): string | undefined => {
  const message = jsonOf(answer)?.message;
  return typeof message === "string" ? message.slice(0, 300) : undefined;
};

function idOf(answer: Answer): { messageId?: string } {
  const sent = jsonOf(answer)?.sentMessages;
  const id: unknown = Array.isArray(sent) ? sent[0]?.id : undefined;
  return typeof id === "string" ? { messageId: id } : {};
}

function outcomeOfAnswer(answer: Answer, now: number): SendOutcome {
  const { status, headers } = answer;
  if (status >= 200 && status < 300) return { status: "sent", ...idOf(answer) };
  const said = saidBy(answer);
  if (status === 429 && /monthly limit/i.test(said ?? "")) {
    return {
      status: "failed",
      reason:
        "This LINE account has reached its monthly message limit: wait for the next month or change its plan.",
    };
  }
  if (status === 401) {
    return { status: "failed", reason: "LINE refused the token: check sigchat.channelAccessToken." };
  }
  const reason = `${PROVIDER} answered ${status}${said ? `: ${said}` : "."}`;
  return outcomeOfStatus(status, reason, retryAfterMs(headers.get("retry-after"), now));
}
