import type { ToolSet } from "ai";
import type { Conversation } from "./conversation.ts";
import type { Models } from "./models.ts";

/** State of one session's process. */
export interface Agent {
  readonly models: Models;
  readonly instructions: string | undefined;
  readonly tools: ToolSet;
  readonly conversation: Conversation;
  readonly maxSteps: number;
  log(level: "debug" | "warn", message: string, detail?: string): void;
}
