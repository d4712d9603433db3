/** What a hostile agent program cannot do. */
export const hostileAgents: Readonly<Record<string, string>> = {
  "HARD-AGENT-1":
    "A turn's text and thoughts take a bounded amount of memory; above 32 MiB of text the turn fails.",
  "HARD-AGENT-2": "A turn of many tool calls takes linear time.",
  "HARD-AGENT-3": "A turn leaves at most 100 images.",
  "HARD-AGENT-4": "JSON nested without end fails its own turn at most.",
  "HARD-AGENT-5": "A program that asks without reading the answers is not read on.",
  "HARD-AGENT-6":
    "Lines that are no messages, endless ones and error output cost a bounded amount of memory.",
  "HARD-AGENT-7": "A program that closes its output is ended, and its turn fails at once.",
  "HARD-AGENT-9":
    "Ids, names, unfinished tool calls, images and questions of one turn take a bounded amount of memory.",
  "HARD-AGENT-10": "A name too long for one is neither stored nor shown, and the log is not flooded.",
  "HARD-AGENT-11": "An agent cannot use up the gateway's descriptors through its tools' socket.",
  "HARD-AGENT-12": "A line of more values than any message has is not read, and blocks nobody.",
  "HARD-TEXT-1": "Answers of any size stay readable: a page ends at 8 MiB of text, and its cursor leads on.",
  "HARD-TEXT-2":
    "Answers of any size never keep a session from its next turn: a new process is told what fits.",
  "HARD-TEXT-3": "Hints for images and videos are no longer than a message.",
  "HARD-AGENT-8": "Fields of the wrong type, forged calls and stray answers are ignored.",
};
