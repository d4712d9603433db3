import { registerClient, selectClientAuthMethod } from "@modelcontextprotocol/client";
import { CLIENT_METHODS, type Client } from "./book.ts";
import { failed, type ServerMetadata } from "./discovery.ts";
import { type GuardedFetch, UnreachableError } from "./guarded-fetch.ts";

export interface ClientNeeds {
  metadata: ServerMetadata;
  callback: string;
  scope: string;
  /** An id that the owner was given by the server. */
  configured: string | undefined;
  /** Name of the variable for it. */
  variable: string;
  fetch: GuardedFetch;
  onSecret(value: string): void;
}

/** A public client where the server takes one: it has no secret to keep. */
function methodFor(supported: readonly string[] | undefined): Client["method"] {
  if (!supported) return "none";
  return CLIENT_METHODS.find((method) => supported.includes(method)) ?? "none";
}

/**
 * Registers the gateway with the authorization server (RFC 7591), or takes the id that the owner was given.
 * @throws GatewayError `UPSTREAM_UNAVAILABLE`
 */
export async function becomeClient(needs: ClientNeeds): Promise<Client> {
  const { metadata, callback, scope, configured, variable, fetch, onSecret } = needs;
  const supported = metadata.token_endpoint_auth_methods_supported;
  let why = "does not let clients register themselves";
  let cause: unknown;
  if (metadata.registration_endpoint) {
    try {
      const registered = await registerClient(metadata.issuer, {
        metadata,
        clientMetadata: {
          client_name: "Agent Gateway",
          redirect_uris: [callback],
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code"],
          token_endpoint_auth_method: methodFor(supported),
          application_type: callback.startsWith("https:") ? "web" : "native",
          scope,
        },
        fetchFn: fetch,
      });
      const { client_id: id, client_secret: secret } = registered;
      if (secret !== undefined) onSecret(secret);
      const method = selectClientAuthMethod(registered, supported ?? []);
      return { id, ...(secret !== undefined && { secret }), method };
    } catch (error) {
      why = error instanceof UnreachableError ? error.message : "refused to register the gateway as a client";
      cause = error;
    }
  }
  if (configured) return { id: configured, method: "none" };
  throw failed(
    `The authorization server ${why}. Set ${variable} to the id of a client registered there.`,
    cause,
  );
}
