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
  "CONN-20":
    "every key lists the connectors with what is connected and missing, and sees none of their configuration",
  "CONN-21": "a secret that comes over the API goes into the private file alone, and comes back as it was",
  "CONN-22":
    "a new connector's id is its label in a form of its own; taken ids and the gateway's own names are numbered, and nothing of an earlier connector is left for it",
  "CONN-23": "a connector whose parts do not fit together is refused, and nothing of it is saved",
  "CONN-24": "secrets are given as one token or by name; connectors of other owners take none",
  "CONN-25": "a change drops the secrets of placeholders that are gone",
  "CONN-26": "another program may hold the access token of a connector and replace it",
  "CONN-27":
    "removing takes the secrets, and the entry with the agents' switches where nothing else would be left or it is asked for",
  "CONN-28": "an agent's connectors are switched by an admin key; its record shows what holds",
  "CONN-29": "becoming connected and no longer being so is told in the feed, once",
  "CONN-30": "a test connects to a connector as a session would, and tells its tools or what is wrong",
  "CONN-31":
    "a server that fails, floods or repeats its secrets does no harm to a test, which shows no secret",
  "CONN-32":
    "a server that does not start is left out of an agent's next process, logged, and named in its instructions; it comes back before the turn after it was mended",
  "CONN-33": "an ACP agent that only starts servers reaches those at an address by a program of the gateway",
} as const;
