import type { Attachment, ErrorCode, TurnEvent } from "@agent-gateway/contract";
import type { SharedFile } from "./ports.ts";
import { TextOverflow } from "./turn-cap.ts";
import type { StopReason } from "./turn-types.ts";

/** How a turn ended, for those who wait for it as a whole. */
export interface TurnResult {
  status: "done" | "interrupted" | "failed" | "timeout";
  text: string;
  error?: string;
  attachments: Attachment[];
  /** Files that the agent shared into a channel's chat. */
  files: SharedFile[];
  durationMs: number;
  /** False when the end of the turn could not be written. */
  stored: boolean;
}

/** A runtime rejects with a sentence for the user; whatever else is thrown can hold paths and stays in the log. */
export function isSentence(error: unknown): error is Error {
  return error instanceof Error && error.constructor === Error && !("code" in error);
}

export function sentenceOf(error: unknown): string {
  return isSentence(error) || error instanceof TextOverflow
    ? error.message
    : "The agent could not be run; the gateway's log says why.";
}

/** Why a turn failed, as a caller and history are told; undefined where it did not. */
export function failureOf({
  status,
  error,
}: Pick<TurnResult, "status" | "error">): { code: ErrorCode; message: string } | undefined {
  if (status === "failed") return { code: "AGENT_FAILED", message: error ?? "The agent failed." };
  return status === "timeout" ? { code: "TIMEOUT", message: error ?? NOT_IN_TIME } : undefined;
}

const NOT_IN_TIME = "The agent did not finish in time and was interrupted.";

/** What is said of a turn that was ended for the time it took, with what last kept the model from answering. */
export function timeoutSentence(
  reason: StopReason | undefined,
  trouble: string | undefined,
): string | undefined {
  if (reason !== "silent" && trouble === undefined) return undefined;
  const said = reason === "silent" ? "The model did not answer." : NOT_IN_TIME;
  return trouble === undefined ? said : `${said} ${trouble}`;
}

/** The event that closes the log of a turn. */
export function lastEvent(result: TurnResult, sessionId: string): TurnEvent {
  const failure = failureOf(result);
  if (failure) return { type: "error", ...failure };
  return {
    type: "result",
    text: result.text,
    session_id: sessionId,
    duration_ms: result.durationMs,
    ...(result.attachments.length > 0 && { attachments: result.attachments }),
    ...(result.status === "interrupted" && { interrupted: true }),
  };
}

/** Path in the agent's media folder of what an attachment's address names. */
export function mediaPathOf(agentId: string, url: string): string {
  const prefix = `/api/v1/agents/${agentId}/media/`;
  return decodeURI(url.startsWith(prefix) ? url.slice(prefix.length) : url);
}
