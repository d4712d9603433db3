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
  "HARD-AGENT-8": "Fields of the wrong type, forged calls and stray answers are ignored.",
};
