/** Agents whose program runs in a terminal. */
export const pty = {
  "PTY-1":
    "with `gateway.headless: false` the agent CLI runs in a terminal of 200 by 50, with arguments for it, from a session's next process on; other runtimes and agents with orchestration stay headless",
  "PTY-2":
    "reply, tools and usage come from the program's records: a turn ends with `end_turn`, the Stop hook, an API error (failed) or an interruption, and records of subagents are no reply",
  "PTY-3": "the screen tells only ready, busy and known questions",
  "PTY-4":
    "pasted text keeps of the control characters only newline and tab, and nothing in it acts as a key or a command",
  "PTY-5":
    "a message waits, 30 s at most, while a person has text in the input line; then the line is cleared first",
  "PTY-6":
    "the permission-bypass question is answered in both its forms, after reading the caret back, unless PTY_SHELL_SKIP_DIALOG_DISMISS=1; an unknown question gets no key",
  "PTY-7":
    "what a person submits is no turn and is not stored, and the session is busy until it ends; /stop ends it",
  "PTY-8":
    "a new process resumes the program's own session, else it is told the conversation in its first paste",
  "PTY-9": "the gateway's own tools reach the program through a private file that is gone with the process",
  "PTY-10": "the program and its children end with the session and with the gateway, however that ends",
  "PTY-11": "a program that prints 100 MB neither blocks the event loop nor makes memory grow",
  "PTY-12": "a link, a pipe or a huge file in place of the records does no harm",
  "PTY-13": "output after a snapshot follows it without a gap and without a repetition",
} as const;
