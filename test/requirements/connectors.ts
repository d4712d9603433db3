/** The owner's connectors: tool servers outside the gateway, for agents on every runtime. */
export const connectors = {
  "CONN-1":
    "a connector whose secrets are all there is offered to agents, and its tools work, on every runtime",
  "CONN-2": "a secret goes into env, url and headers as it is, and stands in no argument and no log",
  "CONN-3":
    "the agent's entry decides whether it has a connector, then the connector's default, then the gateway's",
  "CONN-4": "allowTools names connectors' tools; without one of a connector's, the agent does not get it",
  "CONN-5": "a file with secrets is private, goes with its process, and after a kill at the next start",
  "CONN-6": "a change reaches a session before its next turn",
  "CONN-8":
    "among the tools of a program that the gateway does not know, one is a connector's only if its name says so with `mcp`",
  "CONN-7": "a connector that cannot be used is left out with a line in the log; the others work",
} as const;
