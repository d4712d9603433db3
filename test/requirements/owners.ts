/** Who owns what: the home, and the agents where several gateways share a store. */
export const owners: Record<string, string> = {
  "HOME-1": "A home on a network file system ends the start with 78 and one sentence.",
  "HOME-2":
    "The home's lock is held by the kernel: it is free at once when its process is gone, whatever its files and process ids say, and belongs to the one file, not to a copy.",
  "OWN-1":
    "Of several gateways on one store no two act for an agent at once: one that could not renew stops at 60 % of the lease, and another takes over after all of it, by its own monotonic clock and without a gap in its readings.",
  "OWN-2": "Every agent has an owner again once a pause, a cut line or a death is over.",
  "OWN-3":
    "A gateway answers 503 UNAVAILABLE with Retry-After for agents of another, and harms nothing of theirs.",
  "OWN-4": "The agents of a gateway that was killed are taken by another within the lease and five seconds.",
  "OWN-5":
    "A unit of an agent takes effect only under the fence of its owner; taking waits for units in flight, and sees them.",
  "OWN-6":
    "Every message id is given once by all gateways together, and whoever takes an agent gives it higher ids than its last owner.",
  "OWN-7":
    "No wall clock decides about owners: gateways whose clocks differ by hours leave each other alone.",
  "OWN-8":
    "A gateway that finds an agent taken ends its children for it, tells its clients 503, and writes nothing of it.",
  "OWN-9":
    "A stop frees the agents at once, and a start on the same home takes back at once what an earlier one owned.",
  "OWN-11":
    "An agent that left a gateway's configuration is free for others, also when the store was away at that moment.",
  "OWN-12":
    "A removed agent is forgotten with its workspace, however its removal and the looks at the owners follow one another: one made anew under its id is served.",
  "OWN-13": "A workspace that does not answer holds up neither the start nor the other agents.",
  "OWN-14": "A marker that a crash or a full disk left without an id is written again.",
  "OWN-15":
    "An agent is served as soon as it was made, or is in the configuration of the gateway that is to have it.",
  "OWN-10":
    "What comes in for an agent of another gateway is stored and answered by its owner; a takeover loses and doubles nothing.",
  "OWN-16":
    "A gateway on a copy of another's disk is not taken for one of its earlier starts: it keeps its agents, and both say so in the log.",
  "OWN-17": "A taker waits for the longer of its own lease and the owner's.",
};
