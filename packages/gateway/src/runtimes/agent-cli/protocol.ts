/**
 * Lines that an agent program writes, reduced to what the gateway uses. The protocol carries no promise of
 * stability: whatever is unknown or malformed is skipped, and every field is checked before it is believed.
 */

import { costIn, NO_TOKENS, tokensIn } from "../token-counts.ts";
import { toolId, toolText } from "../tool-text.ts";
import type { TokenCounts } from "../types.ts";

/** A block of an Anthropic message that matters here. */
export type Block =
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  | { type: "tool_use"; id: string; name: string; input: string | undefined }
  | {
      type: "tool_result";
      id: string;
      isError: boolean;
      text: string | undefined;
      images: readonly ImageBlock[];
    }
  | { type: "image"; image: ImageBlock };

export interface ImageBlock {
  mime: string;
  base64: string;
}

/** Tokens in the context after a model call; undefined where the line does not say. */
export interface Usage {
  input: number | undefined;
  output: number | undefined;
  /** The same as it is billed; only what the line says. */
  billed: Partial<TokenCounts>;
}

/** What a program has used by model since some time in the past. */
export type Sums = Readonly<Record<string, TokenCounts & { cost?: number }>>;

export type AgentLine =
  | { kind: "init"; sessionId: string | null; model: string | null; version: string | null }
  | { kind: "compacted" }
  | { kind: "message_start"; model: string | null; usage: Usage | null }
  | { kind: "block_start"; block: "text" | "tool_use" | "other"; id: string; name: string }
  | { kind: "delta"; of: "text" | "thinking"; text: string }
  /** Part of what the model writes that is not shown: a tool's input. */
  | { kind: "working" }
  | { kind: "block_stop" }
  | { kind: "retry"; attempt: number; of: number; status: number | undefined }
  | { kind: "message_delta"; usage: Usage | null }
  | {
      kind: "assistant";
      blocks: readonly Block[];
      model: string | null;
      usage: Usage | null;
      apiError: boolean;
    }
  | { kind: "user"; blocks: readonly Block[]; synthetic: boolean }
  | ResultLine
  | { kind: "control_request"; id: string; request: Fields }
  | { kind: "control_cancel"; id: string }
  | { kind: "control_response"; id: string; response: Fields | null; error: string | null }
  /** A line that only shows that the program is at work. */
  | { kind: "other" };

export interface ResultLine {
  kind: "result";
  text: string;
  isError: boolean;
  /** HTTP status of the model provider's answer that failed the turn. */
  apiStatus: number | undefined;
  errors: readonly string[];
  /** The turn was cut off from outside. */
  aborted: boolean;
  /** User lines that still wait: more than none means that this result is not theirs. */
  queued: number;
  sessionId: string | null;
  usage: Usage | null;
  /** Context windows in tokens by model id. */
  windows: Readonly<Record<string, number>>;
  /** These only grow, and go on over a resumption if the program ended in peace. */
  sums: Sums;
  /** US dollars; grows like {@link ResultLine.sums}. */
  totalCost: number | undefined;
}

export type Fields = Readonly<Record<string, unknown>>;

/** Reads one line; null for what is no JSON object. */
export function parseLine(line: string): AgentLine | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  return isFields(value) ? readLine(value) : null;
}

/** Reads a line that has been parsed as JSON; null for what is no message. */
export function readLine(value: Fields): AgentLine | null {
  // A subagent's lines are the business of the tool call that started it.
  if (typeof value.parent_tool_use_id === "string") return { kind: "other" };
  switch (value.type) {
    case "system":
      return systemLine(value);
    case "stream_event":
      return isFields(value.event) ? streamLine(value.event) : null;
    case "assistant":
      return assistantLine(value);
    case "user":
      if (value.isReplay === true) return { kind: "other" };
      return {
        kind: "user",
        blocks: blocksOf(message(value).content),
        synthetic: value.isSynthetic === true,
      };
    case "result":
      return resultLine(value);
    case "control_request":
      if (typeof value.request_id !== "string" || !isFields(value.request)) return null;
      return { kind: "control_request", id: value.request_id, request: value.request };
    case "control_cancel_request":
      return typeof value.request_id === "string" ? { kind: "control_cancel", id: value.request_id } : null;
    case "control_response":
      return controlResponse(value.response);
    default:
      return { kind: "other" };
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Longer than the name of any model, version or session. */
const MAX_NAME_CHARS = 300;

/** A text that is kept beyond its turn; null for one that is no name. */
export function nameOrNull(value: unknown): string | null {
  return typeof value === "string" && value.length <= MAX_NAME_CHARS ? value : null;
}

function systemLine(line: Fields): AgentLine {
  if (line.subtype === "compact_boundary") return { kind: "compacted" };
  if (line.subtype === "api_retry") {
    const { attempt, max_retries: of, error_status: status } = line;
    const known = typeof attempt === "number" ? attempt : 1;
    return {
      kind: "retry",
      attempt: known,
      of: typeof of === "number" ? of : known,
      status: typeof status === "number" ? status : undefined,
    };
  }
  if (line.subtype !== "init") return { kind: "other" };
  return {
    kind: "init",
    sessionId: nameOrNull(line.session_id),
    model: nameOrNull(line.model),
    version: nameOrNull(line.claude_code_version),
  };
}

function streamLine(event: Fields): AgentLine {
  switch (event.type) {
    case "message_start": {
      const started = isFields(event.message) ? event.message : {};
      return { kind: "message_start", model: modelOf(started), usage: usageOf(started.usage) };
    }
    case "content_block_start": {
      const block = isFields(event.content_block) ? event.content_block : {};
      const type = block.type === "text" || block.type === "tool_use" ? block.type : "other";
      return {
        kind: "block_start",
        block: type,
        id: toolId(textOrNull(block.id) ?? ""),
        name: textOrNull(block.name) ?? "",
      };
    }
    case "content_block_delta": {
      const delta = isFields(event.delta) ? event.delta : {};
      if (delta.type === "text_delta" && typeof delta.text === "string")
        return { kind: "delta", of: "text", text: delta.text };
      if (delta.type === "thinking_delta" && typeof delta.thinking === "string")
        return { kind: "delta", of: "thinking", text: delta.thinking };
      return { kind: "working" };
    }
    case "content_block_stop":
      return { kind: "block_stop" };
    case "message_delta":
      return { kind: "message_delta", usage: usageOf(event.usage) };
    default:
      return { kind: "other" };
  }
}

function assistantLine(line: Fields): AgentLine {
  const content = message(line);
  return {
    kind: "assistant",
    blocks: blocksOf(content.content),
    model: modelOf(content),
    usage: usageOf(content.usage),
    apiError: line.is_api_error_message === true || line.isApiErrorMessage === true,
  };
}

function resultLine(line: Fields): ResultLine {
  const windows: Record<string, number> = {};
  const sums: Record<string, Sums[string]> = {};
  const models = Object.entries(isFields(line.modelUsage) ? line.modelUsage : {});
  for (const [model, use] of models.slice(0, MAX_MODELS)) {
    if (!isFields(use) || nameOrNull(model) === null) continue;
    if (typeof use.contextWindow === "number") windows[model] = use.contextWindow;
    const sum = sumOf(use);
    if (sum !== null) sums[model] = sum;
  }
  return {
    kind: "result",
    text: textOrNull(line.result) ?? "",
    isError: line.is_error === true,
    apiStatus: typeof line.api_error_status === "number" ? line.api_error_status : undefined,
    errors: Array.isArray(line.errors) ? line.errors.filter((one) => typeof one === "string") : [],
    aborted: textOrNull(line.terminal_reason)?.startsWith("aborted") ?? false,
    queued: typeof line.queued_turn_count === "number" ? line.queued_turn_count : 0,
    sessionId: nameOrNull(line.session_id),
    usage: usageOf(line.usage),
    windows,
    sums,
    totalCost: costIn(line.total_cost_usd),
  };
}

/** More models than any turn uses. */
const MAX_MODELS = 50;

function sumOf(use: Fields): Sums[string] | null {
  const told = {
    inputTokens: tokensIn(use.inputTokens),
    outputTokens: tokensIn(use.outputTokens),
    cacheReadTokens: tokensIn(use.cacheReadInputTokens),
    cacheWriteTokens: tokensIn(use.cacheCreationInputTokens),
  };
  if (told.inputTokens === undefined && told.outputTokens === undefined) return null;
  const cost = costIn(use.costUSD);
  return { ...NO_TOKENS, ...withoutUndefined(told), ...(cost !== undefined && { cost }) };
}

function withoutUndefined(counts: { [Key in keyof TokenCounts]: number | undefined }): Partial<TokenCounts> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined));
}

function controlResponse(response: unknown): AgentLine | null {
  if (!isFields(response) || typeof response.request_id !== "string") return null;
  const failed = response.subtype !== "success";
  return {
    kind: "control_response",
    id: response.request_id,
    response: isFields(response.response) ? response.response : failed ? null : {},
    error: failed ? (textOrNull(response.error) ?? "refused") : null,
  };
}

function message(line: Fields): Fields {
  return isFields(line.message) ? line.message : {};
}

/** The CLI marks messages that it wrote itself with a model name in angle brackets. */
function modelOf(from: Fields): string | null {
  const model = nameOrNull(from.model);
  return model === null || model.startsWith("<") ? null : model;
}

function usageOf(value: unknown): Usage | null {
  if (!isFields(value)) return null;
  const parts = [value.input_tokens, value.cache_creation_input_tokens, value.cache_read_input_tokens];
  const known = parts.filter((part) => typeof part === "number");
  const input = known.reduce((sum, part) => sum + part, 0);
  const output = typeof value.output_tokens === "number" ? value.output_tokens : undefined;
  const billed = withoutUndefined({
    inputTokens: tokensIn(value.input_tokens),
    outputTokens: tokensIn(value.output_tokens),
    cacheReadTokens: tokensIn(value.cache_read_input_tokens),
    cacheWriteTokens: tokensIn(value.cache_creation_input_tokens),
  });
  return { input: input > 0 ? input : undefined, output, billed };
}

function blocksOf(content: unknown): Block[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap((block: unknown): Block[] => {
    if (!isFields(block)) return [];
    if (block.type === "text" && typeof block.text === "string") return [{ type: "text", text: block.text }];
    if (block.type === "thinking" && typeof block.thinking === "string")
      return [{ type: "thinking", text: block.thinking }];
    if (block.type === "tool_use" && typeof block.id === "string")
      return [
        {
          type: "tool_use",
          id: toolId(block.id),
          name: textOrNull(block.name) ?? "tool",
          input: toolText(block.input),
        },
      ];
    if (block.type === "tool_result" && typeof block.tool_use_id === "string") {
      const images = Array.isArray(block.content) ? block.content.flatMap(imageOf) : [];
      const text = resultText(block.content);
      const id = toolId(block.tool_use_id);
      return [{ type: "tool_result", id, isError: block.is_error === true, text, images }];
    }
    return imageOf(block).map((image) => ({ type: "image", image }));
  });
}

function resultText(content: unknown): string | undefined {
  if (!Array.isArray(content)) return toolText(content);
  const parts = content.flatMap((block) => (isFields(block) ? (textOrNull(block.text) ?? []) : []));
  return parts.length > 0 ? toolText(parts.join("\n")) : undefined;
}

function imageOf(block: unknown): ImageBlock[] {
  if (!isFields(block) || block.type !== "image" || !isFields(block.source)) return [];
  const { type, data, media_type: mime } = block.source;
  return type === "base64" && typeof data === "string" && typeof mime === "string"
    ? [{ mime, base64: data }]
    : [];
}
