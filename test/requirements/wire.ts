/** Forms of errors and streams, and bodies that are handed on. */
export const wire = {
  "FORM-1":
    "every error of a route has the form that the route declares, whatever finds it: host, key, agent, method, body, handler",
  "FORM-2":
    "a stream that ends early ends in the form of its route, and a route may tell a turn in frames of its own",
  "FORM-3": "a route may allow a larger JSON body than 1 MiB; one byte more is 413",
  "FORM-4": "every 400 has details; where no single field is wrong, their path is empty",
  "PROXY-1":
    "a route that hands bodies on takes and gives any amount, unparsed and in both directions at once, and no more waits in memory than a side is slow to take",
  "PROXY-2":
    "the head of a reply that is handed on goes out before its body, with the headers of its source and no others but x-request-id",
  "PROXY-3":
    "a client that leaves ends the exchange with the source, and a source that dies breaks the connection, at any moment",
  "PROXY-4":
    "a body that is handed on has no deadline, the rest of an unread one after the reply has; other routes keep theirs",
} as const;
