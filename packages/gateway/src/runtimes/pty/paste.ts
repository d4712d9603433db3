const BEGIN = "\x1b[200~";
const END = "\x1b[201~";
/** C0 without newline and tab, DEL, and C1: anything of these could act as a key or end the paste. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
/** A first character that the program would take for a command, a shell line or a note. */
const COMMAND_LIKE = /^[/!#]/;
/** A last word that opens a list of suggestions, or a backslash: Enter would choose or break the line. */
const HELD_BY_END = /(?:\\|(?:^|\s)[@/]\S*)$/;
/** Claude Code looks for commands behind spaces too, but not in a paste of more than three lines (2.1.330). */
const MANY_LINES = "\n\n\n";

/**
 * Text as it may be pasted: nothing in it acts as a key or as a command of the program.
 * @param claudeCode the program is known to be Claude Code itself
 */
export function plainText(text: string, claudeCode: boolean): string {
  const plain = text.replaceAll(/\r\n?/g, "\n").replaceAll(CONTROLS, "");
  const isCommand = COMMAND_LIKE.test(plain);
  const hidden = claudeCode && /^\s*\//.test(plain) ? MANY_LINES : "";
  return `${isCommand ? " " : ""}${plain}${hidden || (HELD_BY_END.test(plain) ? " " : "")}`;
}

/** The bytes that paste a text (bracketed paste). */
export const pasteOf = (text: string): string => `${BEGIN}${text}${END}`;
