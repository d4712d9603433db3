export const ENTER = "\r";
export const ESCAPE = "\x1b";
/** Ctrl-U: empties the program's input line. */
export const CLEAR_LINE = "\x15";

/** What a viewer's own terminal answers when the program asks it: the gateway has answered already. */
const REPORT = new RegExp(
  [
    // Device attributes, status and cursor position; modes; colours; strings; focus.
    "\\x1b\\[[?>]?[\\d;]*[cnR]",
    "\\x1b\\[\\?[\\d;]*\\$y",
    "\\x1b\\](?:4|10|11|12);[^\\x07\\x1b]{0,64}(?:\\x07|\\x1b\\\\)",
    "\\x1bP[^\\x1b]{0,128}\\x1b\\\\",
    "\\x1b\\[[IO]",
  ].join("|"),
  "g",
);

/** The keys alone, of what a viewer's terminal sends. */
export const keysOf = (sent: string): string => sent.replaceAll(REPORT, "");
