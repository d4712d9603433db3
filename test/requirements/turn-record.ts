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
  "RETRY-1": "each failed attempt of a model call is an event {type: retry, attempt, of, status?, message}",
  "RETRY-2":
    "the 504 of a sync caller and a failed turn say what the model provider answered last, and what helps",
  "RETRY-3": "runtime.maxRetries (3) bounds the repeats: a model that is down is an error within 15 s",
  "RETRY-4": "a chat is told after 10 s that the model does not answer, at most once a turn",
  "RETRY-5": "what an ACP agent says of its retries beside the protocol is told too",
  "SILENT-1":
    "runtime.silentSeconds (300, 0 never) without a sign of the model end the turn with TIMEOUT, and the next turn has a new process",
  "SILENT-2": "the time in which tools run does not count as silence",
  "SHARE-5":
    "share_file stores any file as an attachment {type, url, name, mime, size}: a copy that the key fetches, kept while a message names it",
  "SHARE-6": "share_file takes paths relative to the workspace",
} as const;
