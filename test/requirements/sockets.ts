/** WebSocket routes and tickets. */
export const sockets = {
  "WS-1": "a WebSocket opens for a key of the route's level that reaches its agent, and for no other",
  "WS-2":
    "a ticket opens one socket, once, within 30 s, for its agent and session, while its key has the right",
  "WS-3": "what is wrong is told by an HTTP error before the upgrade; Host and Origin are checked first",
  "WS-4": "a socket whose key loses its right closes with 4401, all with 1001 when the gateway stops",
  "WS-5": "a message past the route's limit closes its socket with 1009; a key has at most 50 sockets open",
} as const;
