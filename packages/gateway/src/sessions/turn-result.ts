import type { Attachment, TurnEvent } from "@agent-gateway/contract";
import type { SharedFile } from "./ports.ts";

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
export function sentenceOf(error: unknown): string {
  const plain = error instanceof Error && error.constructor === Error && !("code" in error);
  return plain ? error.message : "The agent could not be run; the gateway's log says why.";
}

/** The event that closes the log of a turn. */
export function lastEvent(result: TurnResult, sessionId: string): TurnEvent {
  const attachments = result.attachments.length > 0 ? { attachments: result.attachments } : {};
  const common = { text: result.text, session_id: sessionId, duration_ms: result.durationMs, ...attachments };
  switch (result.status) {
    case "done":
      return { type: "result", ...common };
    case "interrupted":
      return { type: "result", ...common, interrupted: true };
    case "timeout":
      return {
        type: "error",
        code: "TIMEOUT",
        message: "The agent did not finish in time and was interrupted.",
      };
    case "failed":
      return { type: "error", code: "AGENT_FAILED", message: result.error ?? "The agent failed." };
    default:
      return result.status satisfies never;
  }
}

/** Path in the agent's media folder of what an attachment's address names. */
export function mediaPathOf(agentId: string, url: string): string {
  const prefix = `/api/v1/agents/${agentId}/media/`;
  return decodeURI(url.startsWith(prefix) ? url.slice(prefix.length) : url);
}
