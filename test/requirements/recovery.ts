/** What goes on by itself after a failure that passes, and what never holds up anything else. */
export const recovery: Record<string, string> = {
  "CH-START-1":
    "An adapter that could not be created is created again by itself, with growing pauses; the error shows meanwhile.",
  "CH-PLACE-1": "A chat that waits for its own session holds none of its agent's places.",
  "CH-READ-1":
    "A failed read of the inbox delays messages and commands, and needs nobody to wake them again.",
  "CH-READ-2": "A failed read of the outbox delays a reply; no row stays `sending` because of it.",
  "KEY-LATE-1": "What a key is still sending when it is revoked is neither kept nor acted upon.",
  "START-BROKEN-1":
    "A home, configuration or database that cannot be used ends the start at once with one sentence: 78 for the first two, else 1.",
  "STEPS-QUIET-1":
    "What an agent did in a turn that said nothing is kept in history, and is no part of the conversation for agents.",
  "SEND-SPACE-1": "Sending through a device stores nothing while the disk is below its floor.",
  "IMPORT-NAMES-1": "Names in an import are stored as one line without control characters.",
  "ACT-2":
    "A tool of the builtin runtime's own MCP servers waits until it is on disk that the agent has begun.",
  "REMOVE-1":
    "A folder is removed however deep it is; one that a process keeps filling is given up in time and removed later.",
  "RETRY-6":
    "An agent program whose own retries exceed `runtime.maxRetries` has its turn ended with the cause.",
  "KEPT-1": "No runtime is kept for an agent or a configuration that is gone.",
  "FLAG-1": "No text that a request sets can be read as a flag of an agent's program.",
  "TURN-CLOSED-1":
    "A turn that has begun and whose end fails, for whatever reason, is closed in the store as soon as the store can.",
  "TURN-CLOSED-2":
    "A running turn whose session is gone is closed when an agent is taken: by the owner of the messages that it answers, if there are any.",
};
