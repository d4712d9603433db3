import type { HistoryEntry, InputFile, McpServer, ModelUse, RuntimeEvent, TurnOutcome } from "../types.ts";

/** JSON lines between the gateway and the process of one builtin session. Private: both ends are built together. */

export type Provider = "anthropic" | "openai" | "openai-compatible";

/** Environment variable that carries the provider's key to the process. */
export const KEY_VARIABLE = "BUILTIN_AGENT_KEY";

export interface AgentInit {
  type: "init";
  provider: Provider;
  /** Up to and including the version segment; undefined is the provider's own. */
  baseUrl: string | undefined;
  model: string;
  /** Tokens. */
  contextWindow: number;
  /** Further attempts of one request to the provider after the first. */
  maxRetries: number;
  /** Model calls in one turn. */
  maxSteps: number;
  instructions: string | undefined;
  history: readonly HistoryEntry[];
  tools: readonly { name: string; description: string; inputSchema: Record<string, unknown> }[];
  mcpServers: Readonly<Record<string, McpServer>>;
  allowTools: boolean | readonly string[];
}

export type ToAgent =
  | AgentInit
  | { type: "turn"; text: string; files: readonly InputFile[] }
  | { type: "interrupt" }
  | { type: "set_model"; model: string }
  | { type: "compact" }
  | { type: "tool_result"; id: string; text: string; isError: boolean };

/** A runtime event with its bytes as base64. */
export type WireEvent =
  | Exclude<RuntimeEvent, { type: "image" }>
  | { type: "image"; mime: string; base64: string };

export type FromAgent =
  | { type: "ready" }
  | { type: "event"; event: WireEvent }
  | { type: "done"; outcome: TurnOutcome }
  | { type: "compacted"; summary: string | null; used: readonly ModelUse[]; contextPercent: number }
  /** A tool of the agent's own is about to act; answered with `tool_result`. */
  | { type: "acting"; id: string }
  | { type: "tool_call"; id: string; name: string; args: Record<string, unknown> }
  | { type: "log"; level: "debug" | "warn"; message: string; detail?: string | undefined };
