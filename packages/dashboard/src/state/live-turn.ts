import type { TurnFrame, Usage } from "@agent-gateway/contract";
import type { SharedFile } from "../api/types.ts";
import { grown, type Step, textOf } from "./steps.ts";

type Retry = Extract<TurnFrame, { type: "retry" }>;

/** A turn on its way, as far as its frames have come. */
export interface LiveTurn {
  sessionId: string;
  /** Undefined until the first frame. */
  requestId: string | undefined;
  /** Number of the last frame: where a reader continues after its connection was lost. */
  seq: number;
  steps: readonly Step[];
  attachments: readonly SharedFile[];
  /** The agent asks its model again; gone once the model says something. */
  retry: Pick<Retry, "attempt" | "of" | "status" | "message"> | undefined;
  /** The agent takes longer than usual. */
  slow: boolean;
  reconnecting: boolean;
  /** Set by the frame that ends the turn; an error carries its sentence. */
  end: { error?: string; interrupted: boolean; usage?: Usage | undefined } | undefined;
}

export function newTurn(sessionId: string): LiveTurn {
  return {
    sessionId,
    requestId: undefined,
    seq: 0,
    steps: [],
    attachments: [],
    retry: undefined,
    slow: false,
    reconnecting: false,
    end: undefined,
  };
}

/** The turn after one more frame. A frame that was seen before, and a type that is not known, change nothing. */
export function applyFrame(before: LiveTurn, frame: TurnFrame): LiveTurn {
  if (frame.request_id === before.requestId && frame.seq <= before.seq) return before;
  const turn = { ...before, requestId: frame.request_id, seq: frame.seq, reconnecting: false };
  switch (frame.type) {
    case "text_delta":
      return { ...turn, steps: grown(turn.steps, "text", frame.text), retry: undefined };
    case "thinking":
      return { ...turn, steps: grown(turn.steps, "thinking", frame.text), retry: undefined };
    case "tool_use": {
      const { id, name, title, input } = frame;
      const tool: Step = { type: "tool", id, name, title, input, state: "running" };
      const known = turn.steps.findIndex((step) => step.type === "tool" && step.id === id);
      // A tool may be reported again once its input is complete.
      const steps = known < 0 ? [...turn.steps, tool] : turn.steps.with(known, tool);
      return { ...turn, steps, retry: undefined };
    }
    case "tool_result": {
      const state = frame.is_error ? "failed" : "done";
      const steps = turn.steps.map((step) =>
        step.type === "tool" && step.id === frame.id
          ? ({ ...step, state, result: frame.result } as const)
          : step,
      );
      return { ...turn, steps };
    }
    case "retry":
      return { ...turn, retry: frame };
    case "attachment":
      return { ...turn, attachments: [...turn.attachments, frame.attachment] };
    case "timeout":
      return { ...turn, slow: true };
    case "result":
      return {
        ...turn,
        // A program that does not stream says everything here.
        steps: textOf(turn.steps) === "" ? grown(turn.steps, "text", frame.text) : turn.steps,
        end: { interrupted: frame.interrupted === true, usage: frame.usage },
      };
    case "error":
      return { ...turn, end: { error: frame.message, interrupted: false } };
    default:
      return turn;
  }
}
