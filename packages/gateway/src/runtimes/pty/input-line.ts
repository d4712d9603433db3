/** What people have typed into the program's input line since it was last submitted or cleared. */
export interface InputLine {
  /** Takes keys as a terminal sends them; tells whether they submitted a line that was not empty. */
  keys(keys: string): { submitted: boolean };
  readonly empty: boolean;
  /** It was cleared or submitted otherwise. */
  clear(): void;
}

/** One key at a time: an escape sequence, a character with Alt, or a character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: keys are such characters
const KEY = /\x1b(?:\[[0-?]*[ -/]*[@-~]|O[A-Za-z]|[PX^_\]][^\x07\x1b]*(?:\x07|\x1b\\)?|[^[O])?|./gsu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the arrow keys
const ARROW = /^\x1b(?:\[|O)[AB]$/;
const BACKSPACE = new Set(["\x7f", "\b"]);
/** Ctrl-C and Ctrl-U. */
const EMPTIES = new Set(["\x03", "\x15"]);
const MOST = 1_000_000;

/** An arrow up or down fills the line from the program's own list, so it counts as one character. */
export function createInputLine(): InputLine {
  let length = 0;
  return {
    keys(keys) {
      let submitted = false;
      for (const [key] of keys.matchAll(KEY)) {
        if (key === "\r" || key === "\n") {
          submitted ||= length > 0;
          length = 0;
        } else if (EMPTIES.has(key)) length = 0;
        else if (BACKSPACE.has(key)) length = Math.max(0, length - 1);
        else if (ARROW.test(key) || key >= " ")
          length = Math.min(MOST, length + (key.startsWith("\x1b") && !ARROW.test(key) ? 0 : 1));
      }
      return { submitted };
    },
    get empty() {
      return length === 0;
    },
    clear() {
      length = 0;
    },
  };
}
