import { GatewayError } from "@agent-gateway/contract";
import {
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  type FetchLike,
  type OAuthProtectedResourceMetadata,
  resourceUrlFromServerUrl,
  selectResourceURL,
} from "@modelcontextprotocol/client";
import { isRecord } from "../../lib/is-record.ts";
import type { McpServer } from "../../runtimes/index.ts";
import { faultOf } from "./addresses.ts";
import { type GuardedFetch, UnreachableError } from "./guarded-fetch.ts";

type RemoteServer = Extract<McpServer, { url: string }>;
export type ServerMetadata = NonNullable<Awaited<ReturnType<typeof discoverAuthorizationServerMetadata>>>;

/** How one signs in to a connector's server. */
export interface Discovered {
  /** The authorization server. */
  metadata: ServerMetadata;
  /** What the token is for. */
  resource: string;
  /** Scopes that the connector's server asks for, or else offers, parted by spaces. */
  scope: string | undefined;
}

export interface Fetches {
  /** For the connector's own address, and for addresses made from it. */
  owned: GuardedFetch;
  /** The same, without the body of the reply, which may be a stream. */
  ownedHead: GuardedFetch;
  /** For addresses that a server named. */
  learned: GuardedFetch;
  /** Whether the connector's host is local. */
  local: boolean;
}

/** The sign-in cannot begin because of a server outside. */
export const failed = (message: string, cause?: unknown) =>
  new GatewayError("UPSTREAM_UNAVAILABLE", message, { cause });

/** Pages that answer everything with HTML and status 200 have no metadata. */
const metadataOnly =
  (send: GuardedFetch): FetchLike =>
  async (url, init) => {
    const reply = await send(url, init);
    if (!reply.ok) return reply;
    const found: unknown = await reply.json().catch(() => undefined);
    return isRecord(found) ? Response.json(found) : new Response(null, { status: 404 });
  };

/** How the server answers someone without a token. */
async function challengeOf({ url, type, headers }: RemoteServer, { ownedHead }: Fetches) {
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "agent-gateway", version: "1" },
    },
  };
  const reply = await ownedHead(
    url,
    type === "sse"
      ? { headers: { ...headers, accept: "text/event-stream" } }
      : {
          method: "POST",
          headers: {
            ...headers,
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
          },
          body: JSON.stringify(initialize),
        },
  );
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(reply);
  return { asked: reply.status === 401 || resourceMetadataUrl !== undefined, resourceMetadataUrl, scope };
}

/** RFC 9728: what the server says of itself; undefined if it says nothing. */
async function resourceOf(
  url: string,
  named: URL | undefined,
  { owned, learned }: Fetches,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  try {
    return await discoverOAuthProtectedResourceMetadata(
      url,
      named && { resourceMetadataUrl: named },
      metadataOnly(named ? learned : owned),
    );
  } catch (error) {
    if (error instanceof UnreachableError) throw error;
    return undefined;
  }
}

/**
 * Finds out how one signs in to an MCP server: its challenge, RFC 9728, RFC 8414 or else OpenID Connect Discovery.
 * @throws GatewayError `UPSTREAM_UNAVAILABLE`
 */
export async function discover(server: RemoteServer, fetches: Fetches): Promise<Discovered> {
  const base = server.url;
  const challenge = await challengeOf(server, fetches).catch((error) => {
    throw explained("The connector's server", error);
  });
  const described = await resourceOf(base, challenge.resourceMetadataUrl, fetches).catch((error) => {
    throw explained("The connector's server", error);
  });
  const [named] = described?.authorization_servers ?? [];
  if (!challenge.asked && named === undefined) throw failed("The connector's server asks for no sign-in.");
  // Before RFC 9728, the server's own origin was its authorization server.
  const issuer = named ?? String(new URL("/", base));
  const metadata = await discoverAuthorizationServerMetadata(issuer, {
    fetchFn: metadataOnly(named === undefined ? fetches.owned : fetches.learned),
  }).catch((error) => {
    throw explained("The authorization server", error);
  });
  if (!metadata) throw failed("The authorization server publishes no metadata, so nobody can sign in.");
  const { authorization_endpoint, token_endpoint, registration_endpoint } = metadata;
  for (const endpoint of [authorization_endpoint, token_endpoint, registration_endpoint]) {
    const fault = endpoint === undefined ? undefined : faultOf(new URL(endpoint), fetches.local);
    if (fault) throw failed(`The authorization server named an address that ${fault}.`);
  }
  const scope = challenge.scope ?? (joined(described?.scopes_supported) || joined(metadata.scopes_supported));
  return { metadata, resource: await resourceIndicator(base, described), scope: scope || undefined };
}

const joined = (scopes: readonly string[] | undefined) => scopes?.join(" ");

/** RFC 8707: what the server calls itself, if that is where it is; else its address. */
async function resourceIndicator(
  url: string,
  described: OAuthProtectedResourceMetadata | undefined,
): Promise<string> {
  if (!described) {
    const own = resourceUrlFromServerUrl(url);
    // It may hold secrets.
    own.search = own.username = own.password = "";
    return own.href;
  }
  try {
    await selectResourceURL(url, {} as Parameters<typeof selectResourceURL>[1], described);
  } catch (error) {
    throw failed("The connector's server describes another server than itself.", error);
  }
  return described.resource;
}

/** What went wrong at `who`, in one sentence without what the server said. */
function explained(who: string, error: unknown): GatewayError {
  const why = error instanceof UnreachableError ? error.message : "sent metadata that is not valid";
  return failed(`${who} ${why}.`, error);
}
