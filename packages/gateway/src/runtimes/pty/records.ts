import { type AgentLine, type Fields, isFields, readLine, textOrNull } from "../agent-cli/index.ts";

type AssistantLine = Extract<AgentLine, { kind: "assistant" }>;

/** A record of the program's transcript, reduced to what the gateway uses. */
export type TranscriptRecord =
  /** Someone's message, as the program took it. */
  | { kind: "prompt"; text: string }
  /** `ends`: the model has nothing more to say. */
  | { kind: "said"; line: AssistantLine; messageId: string | null; ends: boolean }
  /** A model call has finally failed; the program tells it in these words. */
  | { kind: "api_error"; text: string; status: number | undefined }
  | { kind: "interrupted"; text: string }
  /** Results of tools, or a compaction and its summary. */
  | { kind: "line"; line: AgentLine }
  /** A command of the program itself has ended. */
  | { kind: "command"; text: string }
  /** The program has done all that follows an answer. */
  | { kind: "over" };

const INTERRUPTED = "[Request interrupted by user";
const COMMAND_OUTPUT = "<local-command-stdout>";

/** Reads one record; null for what says nothing of a turn. */
export function readRecord(text: string): TranscriptRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  // What a subagent writes is the business of the tool call that started it.
  if (!isFields(value) || value.isSidechain === true) return null;
  switch (value.type) {
    case "assistant":
      return assistantRecord(value);
    case "user":
      return userRecord(value);
    case "system":
      return systemRecord(value);
    default:
      return null;
  }
}

function assistantRecord(record: Fields): TranscriptRecord | null {
  const line = lineOf(record);
  if (line?.kind !== "assistant") return null;
  if (line.apiError) {
    const text = line.blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
    const status = record.apiErrorStatus;
    return { kind: "api_error", text, status: typeof status === "number" ? status : undefined };
  }
  const message = isFields(record.message) ? record.message : {};
  return { kind: "said", line, messageId: textOrNull(message.id), ends: message.stop_reason === "end_turn" };
}

function userRecord(record: Fields): TranscriptRecord | null {
  // The summary follows the compaction, as a message that nobody sent.
  if (record.isCompactSummary === true) {
    const line = lineOf({ ...record, isSynthetic: true });
    return line && { kind: "line", line };
  }
  if (record.isMeta === true) return null;
  const line = lineOf(record);
  if (line?.kind !== "user") return null;
  if (line.blocks.some((block) => block.type === "tool_result")) return { kind: "line", line };
  const [first] = line.blocks;
  const said = first?.type === "text" ? first.text : "";
  const text = said.trim();
  if (text.startsWith(INTERRUPTED)) return { kind: "interrupted", text };
  if (text.startsWith(COMMAND_OUTPUT)) return { kind: "command", text };
  return { kind: "prompt", text };
}

function systemRecord(record: Fields): TranscriptRecord | null {
  switch (record.subtype) {
    case "local_command":
      return { kind: "command", text: textOrNull(record.content) ?? "" };
    case "compact_boundary":
      return { kind: "line", line: { kind: "compacted" } };
    case "turn_duration":
      return { kind: "over" };
    default:
      return null;
  }
}

/** The record as the line that the program writes of it without a terminal; the forms are the same. */
const lineOf = ({ type, message, isApiErrorMessage, isSynthetic }: Fields): AgentLine | null =>
  readLine({ type, message, isApiErrorMessage, isSynthetic });
