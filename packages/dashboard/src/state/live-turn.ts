import type { TurnFrame } from "@agent-gateway/contract";

export interface ToolUse {
  id: string;
  name: string;
  state: "running" | "done" | "failed";
}

/** A turn on its way, as far as its frames have come. */
export interface LiveTurn {
  sessionId: string;
  /** Undefined until the first frame. */
  requestId: string | undefined;
  /** Of the last frame: where a reader goes on after its connection broke. */
  seq: number;
  text: string;
  thinking: boolean;
  tools: readonly ToolUse[];
  attachments: readonly { url: string }[];
  /** The agent takes longer than usual. */
  slow: boolean;
  reconnecting: boolean;
  /** Set by the frame that ends the turn; an error carries its sentence. */
  end: { error?: string; interrupted: boolean } | undefined;
}

export function newTurn(sessionId: string): LiveTurn {
  return {
    sessionId,
    requestId: undefined,
    seq: 0,
    text: "",
    thinking: false,
    tools: [],
    attachments: [],
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
      return { ...turn, text: turn.text + frame.text, thinking: false };
    case "thinking":
      return { ...turn, thinking: true };
    case "tool_use":
      return {
        ...turn,
        thinking: false,
        tools: [...turn.tools, { id: frame.id, name: frame.name, state: "running" }],
      };
    case "tool_result": {
      const state = frame.is_error ? "failed" : "done";
      return { ...turn, tools: turn.tools.map((tool) => (tool.id === frame.id ? { ...tool, state } : tool)) };
    }
    case "attachment":
      return { ...turn, attachments: [...turn.attachments, frame.attachment] };
    case "timeout":
      return { ...turn, slow: true };
    case "result":
      return { ...turn, text: frame.text, end: { interrupted: frame.interrupted === true } };
    case "error":
      return { ...turn, end: { error: frame.message, interrupted: false } };
    default:
      return turn;
  }
}
