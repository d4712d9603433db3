import type { messagingApi } from "@line/bot-sdk";
import type { Clock } from "../../lib/clock.ts";
import { type Answer, deadline, jsonOf } from "../support/exchange.ts";
import { outcomeOfStatus, outcomeOfThrown, retryAfterMs, SEND_TIMEOUT_MS } from "../support/outcome.ts";
import type { Outgoing, SendOutcome, Target } from "../types.ts";
import { type Api, PROVIDER } from "./api.ts";
import { messagesOf, type PublicLink } from "./messages.ts";

/**
 * A reply token is good for a minute, and once.
 * Source: https://developers.line.biz/en/reference/messaging-api/#send-reply-message
 */
const TOKEN_MS = 50_000;
/** Tokens are of no use after a minute, so few are worth remembering. */
const MOST_TOKENS = 1_000;

export interface SenderDeps {
  api: Api;
  clock: Clock;
  publicLink: PublicLink | undefined;
}

/** One attempt: a reply where the token is good, else a push, which costs of the account's monthly messages. */
export function createSender({ api, clock, publicLink }: SenderDeps) {
  /** Tokens that were given to LINE, and by which row: only that one may try again with it. */
  const taken = new Map<string, string>();

  const usable = ({ reply, receivedAt }: Target, key: string): string | undefined => {
    const token = reply.replyToken;
    if (typeof token !== "string" || token === "" || clock.now() - receivedAt > TOKEN_MS) return undefined;
    const by = taken.get(token);
    if (by !== undefined && by !== key) return undefined;
    taken.delete(token);
    taken.set(token, key);
    const [oldest] = taken.keys();
    if (taken.size > MOST_TOKENS && oldest !== undefined) taken.delete(oldest);
    return token;
  };

  const reply = async (
    replyToken: string,
    messages: messagingApi.Message[],
    signal: AbortSignal,
  ): Promise<SendOutcome | "refused"> => {
    const body: messagingApi.ReplyMessageRequest = { replyToken, messages };
    try {
      const answer = await api.post("/v2/bot/message/reply", body, signal);
      // Whatever else it is that was refused, a push says so again.
      const refused = answer.status === 400 || answer.status === 404 || answer.status === 410;
      return refused ? "refused" : outcomeOfAnswer(answer, clock.now());
    } catch (error) {
      return outcomeOfThrown(error);
    }
  };

  const push = async (
    to: string,
    key: string,
    messages: messagingApi.Message[],
    signal: AbortSignal,
  ): Promise<SendOutcome> => {
    const body: messagingApi.PushMessageRequest = { to, messages };
    try {
      const answer = await api.post("/v2/bot/message/push", body, signal, { "x-line-retry-key": key });
      // An earlier attempt with this key was taken.
      if (answer.status === 409) return { status: "sent", ...idOf(answer) };
      return outcomeOfAnswer(answer, clock.now());
    } catch (error) {
      const outcome = outcomeOfThrown(error);
      // LINE takes a key once, so that a push whose fate is unknown may be repeated.
      return outcome.status === "unknown" ? { ...outcome, status: "retry" } : outcome;
    }
  };

  return async ({ target, content, key, replaces }: Outgoing, parent: AbortSignal): Promise<SendOutcome> => {
    if (replaces !== undefined) return { status: "failed", reason: "LINE cannot change a message." };
    const { signal, end } = deadline(clock, SEND_TIMEOUT_MS, parent);
    try {
      const messages = await messagesOf(content, publicLink);
      const token = usable(target, key);
      const replied = token === undefined ? "refused" : await reply(token, messages, signal);
      if (replied !== "refused") return replied;
      return await push(target.chatId, key, messages, signal);
    } catch {
      return { status: "retry", reason: "The message could not be prepared for LINE." };
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
        "The monthly limit of messages of this LINE account is reached: wait for the next month or change its plan.",
    };
  }
  if (status === 401) {
    return { status: "failed", reason: "LINE refused the token: check sigchat.channelAccessToken." };
  }
  const reason = `${PROVIDER} answered ${status}${said ? `: ${said}` : "."}`;
  return outcomeOfStatus(status, reason, retryAfterMs(headers.get("retry-after"), now));
}
