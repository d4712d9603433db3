/** The sign-in to connectors: OAuth between the gateway and an authorization server. */
export const connectorOAuth = {
  "OAUTH-1":
    "a sign-in finds the authorization server by the challenge, RFC 9728 at the path or the root, or the server's own origin, and its metadata by RFC 8414 or OpenID",
  "OAUTH-2":
    "the gateway registers itself, with the authentication that the server offers, and proves it with each token request; where it may not, it takes MCP_OAUTH_CLIENT_ID__<ID>",
  "OAUTH-3":
    "every sign-in uses PKCE with S256 and names the resource, from the beginning to the last refresh",
  "OAUTH-4":
    "scopes are those of MCP_OAUTH_SCOPES__<ID>, else the challenge's, the resource's, the server's, and offline_access",
  "OAUTH-5": "a reply with the wrong issuer, or none where one is promised, is not exchanged",
  "OAUTH-6":
    "a state is good once, for ten minutes, and not after a restart; sign-ins do not disturb each other",
  "OAUTH-7":
    "a connector that is removed, or has another address, before the exchange or before its tokens are stored gets none",
  "OAUTH-8":
    "start is 404 for no connector, 400 for one whose tokens the gateway does not hold, 503 without an address to come back to, 502 when a server fails or asks for no sign-in",
  "OAUTH-9":
    "the callback says how the sign-in ended in a plain page, or sends the browser to gateway.oauthReturnUrl with the code of what went wrong",
  "OAUTH-10":
    "an address that a server names must be https and public, unless the connector's host is local; each of three redirects and each connection is judged; link-local addresses are never reached",
  "OAUTH-11": "an answer may take ten seconds and 1 MiB, and no body goes to another origin",
  "OAUTH-12":
    "a token is refreshed five minutes before it ends, never by two sweeps at a time; a sign-in, a removal or another address meanwhile wins",
  "OAUTH-13":
    "failures of the network wait 5 minutes, doubling to 6 hours, also after a restart; three refusals clear the tokens, and `refresh` tells so until the next sign-in",
  "OAUTH-14":
    "tokens, secrets and codes of a sign-in are in the private file alone: in no reply, page or log",
  "OAUTH-15": "a token that a sign-in has brought is what the connector's server gets from the agent",
} as const;
