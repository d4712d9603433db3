import type { MessageStep } from "@agent-gateway/contract";
import { cutToBytes } from "../lib/cut-text.ts";
import type { TurnOutcome } from "../runtimes/index.ts";
import type { Change, RuntimeState, Store } from "../store/index.ts";
import { MAX_TEXT_BYTES, TextOverflow } from "./turn-cap.ts";
import { failureOf, mediaPathOf, type TurnResult, timeoutSentence } from "./turn-result.ts";
import type { StopReason } from "./turn-types.ts";

/** What the end of a turn stores. */
export interface TurnEnd {
  agentId: string;
  /** The session's id. */
  uuid: string;
  requestId: string;
  result: TurnResult;
  outcome: TurnOutcome;
  now: number;
  /** Id of the message that keeps the reply, why there is none, or what the agent did instead; undefined for none. */
  message: number | undefined;
  steps: readonly MessageStep[];
  /** Whether the text was stored piece by piece. */
  dropParts: boolean;
  /** The agent program's own session. */
  program: RuntimeState | null;
}

/** A turn's result, from how the agent ended it, why it was stopped, and what kept its model from answering. */
export function settleOutcome(
  outcome: TurnOutcome,
  reason: StopReason | undefined,
  trouble: string | undefined,
) {
  const text = cutToBytes(outcome.text, MAX_TEXT_BYTES);
  if (text.length < outcome.text.length) {
    return { status: "failed" as const, text, error: new TextOverflow().message, reason };
  }
  const late = reason === "timeout" || reason === "silent";
  const stopped = late ? ("timeout" as const) : ("interrupted" as const);
  const status =
    reason === undefined || (outcome.status === "done" && reason !== "timeout") ? outcome.status : stopped;
  const error = status === "timeout" ? timeoutSentence(reason, trouble) : outcome.error;
  return { status, text, error, reason };
}

/** Stores a turn's reply and closes the turn. */
export function endChanges(
  { sessions, messages, turns }: Pick<Store, "sessions" | "messages" | "turns">,
  end: TurnEnd,
): Change<unknown>[] {
  const { agentId, uuid, message, result, outcome, now } = end;
  const { status, text, attachments } = result;
  const holds = status === "done" || status === "interrupted";
  const error = failureOf(result);
  const reply = {
    session: uuid,
    role: "assistant" as const,
    content: text,
    ts: now,
    extra: {
      ...(status !== "done" &&
        (!error || text !== "" || attachments.length > 0) && { interrupted: true as const }),
      ...(error && { error }),
      ...(attachments.length > 0 && { attachments }),
    },
    media: attachments.map((attachment) => mediaPathOf(agentId, attachment.url)),
    steps: end.steps,
  };
  return [
    ...(message === undefined ? [] : [messages.add({ id: message, ...reply })]),
    turns.end(uuid, status === "done" ? "done" : status === "failed" ? "failed" : "interrupted", now),
    ...(end.dropParts ? [turns.dropParts(end.requestId)] : []),
    sessions.settle(uuid, {
      runtimeState: holds ? end.program : null,
      model: outcome.model,
      contextPercent: outcome.contextPercent,
    }),
  ];
}
