import { readPinned } from "../../lib/guarded/index.ts";
import { historyText } from "../history-text.ts";
import { type HistoryEntry, MAX_FILE_BYTES, type TurnInput } from "../types.ts";
import type { Fields } from "./protocol.ts";

/** A first word that an agent program with commands of its own would run instead of reading it. */
const COMMAND_LIKE = /^\/[A-Za-z][\w:-]*(?:\s|$)/;

/** The `user` line of a turn: a string, or blocks when files come with it. */
export async function userLine(input: TurnInput, history: readonly HistoryEntry[]): Promise<Fields> {
  const text = asText(input.text);
  if (input.files.length === 0)
    return line(history.length === 0 ? text : `${historyText(history)}\n\n${text}`);
  const blocks = await Promise.all(
    input.files.map(async ({ path, mime }) => ({
      type: mime === "application/pdf" ? "document" : "image",
      source: {
        type: "base64",
        media_type: mime,
        data: (await readPinned(path, MAX_FILE_BYTES)).toString("base64"),
      },
    })),
  );
  const texts = [...(history.length === 0 ? [] : [historyText(history)]), ...(text === "" ? [] : [text])];
  return line([...blocks, ...texts.map((one) => ({ type: "text", text: one }))]);
}

/** A line that becomes part of the conversation without an answer (Claude Code; a user's is followed by a `result`). */
export function historyLine({ role, text }: HistoryEntry): Fields {
  if (role === "user") return { ...line(asText(text)), shouldQuery: false };
  return {
    type: "assistant",
    message: { role, content: [{ type: "text", text }] },
    parent_tool_use_id: null,
  };
}

/** The text as it is, also to a program that would take its first word for a command. */
function asText(text: string): string {
  return COMMAND_LIKE.test(text) ? ` ${text}` : text;
}

/** `/compact` and its like: the program's own command. */
export function commandLine(command: string): Fields {
  return line(command);
}

function line(content: string | readonly Fields[]): Fields {
  return { type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" };
}
