/** How a turn ended, as far as those need to know who send its reply somewhere. */
export interface EndedTurn {
  status: "done" | "interrupted" | "failed" | "timeout";
  text: string;
  error?: string;
  attachments: ReadonlyArray<{ type: "image" | "file"; url: string }>;
  files: ReadonlyArray<{ path: string; name: string; mime: string }>;
  /** Present if its end could not be stored yet: resolves when it is, or was given up. */
  settled?: Promise<void>;
}

/** What the unit that ends a turn is told of it. */
export interface TurnEnd {
  result: EndedTurn;
  reason: "stop" | "timeout" | "silent" | "shutdown" | undefined;
  produced: boolean;
}

/** A turn that a crash cut off. */
export interface CutOffTurn {
  requestId: string;
  /** The agent's text so far, as far as it is on disk. */
  text: string;
  /** False when the agent had sent nothing at all. */
  produced: boolean;
}
