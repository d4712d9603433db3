/** What a turn tells while it runs, and what is kept of it. */
export const turnRecord = {
  "FAIL-1":
    "a failed turn is a message record of role assistant with error {code, message} and the text so far, in one unit with its end",
  "FAIL-2":
    "a failed turn is one warn line with agent, session, request id, code and reason, without secrets",
  "FAIL-3": "the record of a failed turn is never given to an agent, neither as history nor for compaction",
  "FAIL-4": "errors and steps are exported and imported, and go with their messages",
  "STEP-1":
    "GET messages?include=steps gives tools, thinking and text in their order; without it nothing changes; another value is 400",
  "STEP-2": "input and result are cut after 4 KiB between characters; a message keeps 256 KiB of steps",
  "STEP-3": "live events carry title, input and result",
  "STEP-4": "every runtime tells the input, the result and the title of its tools",
} as const;
