/** The dashboard against hostile answers, narrow screens and other fonts, and what it shows of a turn. */
export const page = {
  "PAGE-1":
    "reading an answer's Markdown takes time in proportion to its length, whatever it holds, and nesting has a limit",
  "FUZZ-1":
    "every regular expression and parser that meets text from outside takes time in proportion to it, up to 200,000 characters of the worst kind",
  "PAGE-2":
    "no page, menu or dialog is cut off or scrolls sideways at 320 and 360 CSS pixels, whatever font the text is in",
  "PAGE-3":
    "what an agent did and thought stands folded within its answer, in its order, live and after a reload, and opens by keyboard",
  "PAGE-4":
    "a failed turn keeps its error below the question, with a button that asks again; retries of the model are told while they last",
  "PAGE-5": "a file that the agent shared is a download link with its name and size",
  "PAGE-6": "what keeps an agent from starting, and a disk that is nearly full, are told where they matter",
  "PAGE-7":
    "replies that may not have arrived are listed, and one is sent again only after the owner was warned",
  "PAGE-8": "the model picker offers what the session's agent can run",
};
