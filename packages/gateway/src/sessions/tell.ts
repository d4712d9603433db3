import type { Change } from "../store/index.ts";
import type { FeedPort } from "./ports.ts";
import { failureOf, type TurnResult } from "./turn-result.ts";

/** Which turn is told of. */
interface TurnPlace {
  agentId: string;
  chatId: string;
  sessionId: string;
  requestId: string;
}

/** What the beginning of a turn tells; `message` is the user message, if one is stored. */
export function tellStart(
  feed: FeedPort,
  turn: TurnPlace & { kind: string; isNew: boolean; message: number | undefined },
): Change[] {
  const { agentId, kind, isNew, message, ...data } = turn;
  const { requestId: _, ...session } = data;
  // It may have been deleted meanwhile, and then no turn begins.
  const still = { while: { session: turn.sessionId } };
  return [
    ...(isNew ? [feed.event({ type: "session.created", agentId, data: session, ...still })] : []),
    ...(message === undefined
      ? []
      : [feed.event({ type: "message.received", agentId, data, message, ...still })]),
    feed.event({ type: "turn.started", agentId, data: { ...data, kind }, ...still }),
  ];
}

/** What the end of a turn tells; `message` is the reply, if one is stored. */
export function tellEnd(
  feed: FeedPort,
  turn: TurnPlace & { kind: string; result: TurnResult; message: number | undefined },
): Change {
  const { agentId, result, message, ...data } = turn;
  const { status, durationMs } = result;
  const failure = failureOf(result);
  return feed.event({
    type: failure ? "turn.failed" : "turn.finished",
    agentId,
    data: { ...data, status, durationMs, ...(failure && { code: failure.code }) },
    message,
  });
}
