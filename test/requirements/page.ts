/** The dashboard against hostile answers, narrow screens and other fonts, and what it shows of a turn. */
export const page = {
  "PAGE-1":
    "reading an answer's Markdown takes time in proportion to its length, whatever it holds, and nesting has a limit",
  "FUZZ-1":
    "every regular expression and parser that meets text from outside takes time in proportion to it, up to 200,000 characters of the worst kind",
  "PAGE-2":
    "no page, menu or dialog is cut off or scrolls sideways at 320 and 360 CSS pixels, whatever font the text is in",
};
