/** Rules of the way in and out: connections, readers, keys, space. */
export const edge = {
  "EDGE-1":
    "a reader that takes nothing of what it is owed for gateway.stalledReaderMs loses its connection, whatever it was reading; a slow one that makes progress keeps it, and no turn is touched",
  "EDGE-2": "headers and bodies have a deadline: a request that trickles in is answered 408 and cut off",
  "EDGE-3":
    "at most gateway.maxConnections connections, half of them from one remote address; one more is answered 503 CAPACITY and closed",
  "EDGE-4":
    "at most gateway.api.maxStreams event streams per key; one more is 429 RATE_LIMITED before the turn begins",
  "EDGE-5":
    "when the configuration changes, the streams, downloads and waiting requests end whose key is gone, lost its level or its agent; the others and all turns go on",
  "EDGE-6": "a second Host, Authorization or X-Api-Key header is 400",
  "EDGE-7":
    "failed authentications of one IPv6 /64 count together, however its addresses are written; a mapped IPv4 address counts as itself",
  "KEY-1":
    "an admin key beside which agents is a list is an error that names its entry (gateway.api.keys[4]); that key alone is switched off, at start and at a reload, and config check and doctor say so",
  "SPACE-1":
    "an agent's media folder holds at most gateway.media.quotaBytes, over it 507 QUOTA_EXCEEDED; right after a restart too, and without a look at the folder for each upload",
  "SPACE-2":
    "below gateway.minFreeBytes whatever stores something new is 503 UNAVAILABLE, /health stays 200 with disk low, reading and commands go on and the replies of running turns are kept",
  "SPACE-3":
    "below gateway.minFreeBytes a channel's message is not acknowledged, and comes in when there is space",
  "LIM-3": "uploads are limited per key (gateway.api.uploadRateLimit): 429 RATE_LIMITED with Retry-After",
  "HEALTH-1":
    "/health is 503 with status unhealthy once file access has not completed for 10 s, and says nothing else",
  "SUPPLY-1": "every package that a Linux server installs is pinned by its content in the lock file",
  "SUPPLY-2": "no package runs a script of its own when it is installed",
  "NAME-1":
    "names of sessions, senders and agents have no control characters, line breaks or bidirectional overrides: 400 over the API, stripped from channels",
  "REAP-1":
    "a process that left its session's group is killed when the session's process ends, and at the shutdown, while it carries the gateway's mark in its environment",
  "CONF-DOC-1": "the reference says of each key that nothing reads yet that it is without effect",
  "CLI-SECRET-1":
    "a secret given as - is read from standard input, one line each in the order of the flags, and typed as an argument it is warned of",
  "COOKIE-1":
    "the dashboard's cookie has the __Host- prefix where the request is secure, and else a name of its own for each port",
  "CLI-CHAT-1":
    "the command line takes a chat by its caller's name and by its stored one; a chat that does not exist is an error with the nearest names",
} as const;
