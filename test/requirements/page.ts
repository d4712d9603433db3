/** The dashboard against hostile answers, narrow screens and other fonts, and what it shows of a turn. */
export const page = {
  "PAGE-1":
    "reading an answer's Markdown takes time in proportion to its length, whatever it holds, and nesting has a limit",
};
