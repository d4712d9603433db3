import type { ModelMessage } from "ai";
import type { HistoryEntry } from "../../types.ts";

/** The part of the conversation that the model sees, and how much of its context it takes. */
export interface Conversation {
  messages: ModelMessage[];
  /** Tokens that fit. */
  readonly window: number;
  /** Input tokens of the last model call; undefined when the provider does not tell. */
  used: number | undefined;
}

const EARLIER = "(The conversation began before this.)";

/** Starts from the gateway's history: roles are made to alternate and to begin with the user, as models require. */
export function createConversation(history: readonly HistoryEntry[], window: number): Conversation {
  const merged: { role: "user" | "assistant"; content: string }[] = [];
  for (const { role, text } of history) {
    if (text.trim() === "") continue;
    const last = merged.at(-1);
    if (last?.role === role) last.content += `\n\n${text}`;
    else merged.push({ role, content: text });
  }
  if (merged[0]?.role === "assistant") merged.unshift({ role: "user", content: EARLIER });
  return { messages: merged, window, used: undefined };
}

/** 0-100; undefined before the provider told. */
export function contextPercent({ used, window }: Conversation): number | undefined {
  return used === undefined ? undefined : Math.min(100, Math.round((used / window) * 100));
}

/** About how many tokens some messages take, for providers that do not tell: four characters each, files aside. */
export function estimateTokens(messages: readonly ModelMessage[]): number {
  const characters = messages.reduce((sum, message) => sum + transcriptOf(message).length, 0);
  return Math.ceil(characters / 4);
}

/** A message as plain text: what was said, and which tools did what. */
export function transcriptOf({ role, content }: ModelMessage): string {
  if (typeof content === "string") return `${role}: ${content}`;
  const parts = content.map((part) => {
    switch (part.type) {
      case "text":
        return part.text;
      case "file":
      case "image":
        return `[a file of type ${part.mediaType ?? "image"}]`;
      case "tool-call":
        return `[called ${part.toolName} with ${JSON.stringify(part.input)}]`;
      case "tool-result":
        return `[${part.toolName} answered: ${outputText(part.output)}]`;
      default:
        return "";
    }
  });
  return `${role}: ${parts.filter((part) => part !== "").join("\n")}`;
}

type ToolOutput = Extract<
  Extract<ModelMessage, { role: "tool" }>["content"][number],
  { type: "tool-result" }
>["output"];

function outputText(output: ToolOutput): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "content":
      return output.value.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
    case "execution-denied":
      return "refused";
    default:
      return JSON.stringify(output.value);
  }
}
