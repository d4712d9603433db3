import { escapeXml } from "../lib/xml.ts";
import type { HistoryEntry } from "./types.ts";

/** Earlier messages as one block of text, for programs that take no history; no message can forge its borders. */
export function historyText(history: readonly HistoryEntry[]): string {
  const messages = history.map(({ role, text }) => `<message role="${role}">${escapeXml(text)}</message>`);
  return `<conversation_history>\n${messages.join("\n")}\n</conversation_history>`;
}
