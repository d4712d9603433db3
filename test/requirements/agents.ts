/** The end of an agent. */
export const agents: Readonly<Record<string, string>> = {
  "AGENT-END-1":
    "Removing an agent ends its turns and closes what waits for it; one that is only missing from the file keeps its messages.",
  "AGENT-END-2":
    "What waits for an agent is closed a minute later, or at the next start, when the gateway is killed while removing it.",
};
