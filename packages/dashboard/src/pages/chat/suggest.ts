import type { Command } from "../../api/types.ts";

/** Commands that the text may become: only while its first word is being written. */
export function suggestions(text: string, commands: readonly Command[]): readonly Command[] {
  if (!/^\/\p{L}*$/u.test(text)) return [];
  const typed = text.toLowerCase();
  const found = commands.filter(({ name }) => name.startsWith(typed));
  // A complete command needs no suggestion: Enter runs it.
  return found.length === 1 && found[0]?.name === typed ? [] : found;
}
