import type { Attachment, ErrorCode, TurnEvent, Usage } from "@agent-gateway/contract";
import type { SharedFile } from "./ports.ts";
import { TextOverflow } from "./turn-cap.ts";

/** Why a turn was interrupted. */
export type StopReason = "stop" | "timeout" | "silent" | "shutdown";

/** How a turn ended, for callers that wait for the whole turn. */
export interface TurnResult {
  status: "done" | "interrupted" | "failed" | "timeout";
  text: string;
  error?: string;
  attachments: Attachment[];
  /** Files that the agent shared in a channel's chat. */
  files: SharedFile[];
  durationMs: number;
  /** Undefined when the turn could not begin. */
  usage?: Usage;
  /** False when the end of the turn could not be written. */
  stored: boolean;
  /** If its end is kept for the store to come back: resolves when it is stored, or given up. */
  settled?: Promise<void>;
  /** True when it could not, because another gateway has taken the agent. */
  lost?: boolean;
}

/** A runtime rejects with a user-facing message; any other error can contain paths and stays in the log. */
export function isSentence(error: unknown): error is Error {
  return error instanceof Error && error.constructor === Error && !("code" in error);
}

export function sentenceOf(error: unknown): string {
  return isSentence(error) || error instanceof TextOverflow
    ? error.message
    : "Could not run the agent; see the gateway's log for the reason.";
}

/** Why a turn failed, as shown to a caller and in history; undefined if it did not fail. */
export function failureOf({
  status,
  error,
  lost,
}: Pick<TurnResult, "status" | "error" | "lost">): { code: ErrorCode; message: string } | undefined {
  if (status === "failed")
    return { code: lost ? "UNAVAILABLE" : "AGENT_FAILED", message: error ?? "The agent failed." };
  return status === "timeout" ? { code: "TIMEOUT", message: error ?? NOT_IN_TIME } : undefined;
}

const NOT_IN_TIME = "The agent did not finish in time and was interrupted.";

/** The message for a turn that was ended because it took too long, with what last kept the model from answering. */
export function timeoutSentence(
  reason: StopReason | undefined,
  trouble: string | undefined,
): string | undefined {
  if (reason !== "silent" && trouble === undefined) return undefined;
  const said = reason === "silent" ? "The model did not answer." : NOT_IN_TIME;
  return trouble === undefined ? said : `${said} ${trouble}`;
}

/** The event that closes a turn's log. */
export function lastEvent(result: TurnResult, sessionId: string): TurnEvent {
  const failure = failureOf(result);
  if (failure) return { type: "error", ...failure };
  return {
    type: "result",
    text: result.text,
    session_id: sessionId,
    duration_ms: result.durationMs,
    ...(result.usage && { usage: result.usage }),
    ...(result.attachments.length > 0 && { attachments: result.attachments }),
    ...(result.status === "interrupted" && { interrupted: true }),
    ...(!result.stored && { stored: false }),
  };
}

/** The path in the agent's media folder that an attachment's address refers to. */
export function mediaPathOf(agentId: string, url: string): string {
  const prefix = `/api/v1/agents/${agentId}/media/`;
  return decodeURI(url.startsWith(prefix) ? url.slice(prefix.length) : url);
}
