import { GatewayError } from "@agent-gateway/contract";
import { startAuthorization, validateAuthorizationResponseIssuer } from "@modelcontextprotocol/client";
import { readEntry } from "../entry.ts";
import { secretKey } from "../token-file.ts";
import { hostOf, isLocalHost } from "./addresses.ts";
import { ACCESS, bookKey, type Client, tokenKey, writeBook } from "./book.ts";
import { becomeClient } from "./client.ts";
import { discover, failed, type ServerMetadata } from "./discovery.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { createStates } from "./states.ts";
import { requestTokens } from "./token.ts";
import { type OAuthDeps, type Outcome, ownedUrl, requireEntry } from "./types.ts";

/** A sign-in that waits for its callback. */
interface Open {
  id: string;
  /** `config.url` at its beginning. */
  url: string;
  local: boolean;
  metadata: ServerMetadata;
  client: Client;
  resource: string;
  callback: string;
  verifier: string;
}

/** All that is asked for a sign-in together. */
const LIMIT_MS = 45_000;
const PROVIDER_CODE = /^[a-z_]{1,64}$/;

const variableOf = (name: string, id: string) => `${name}__${id.toUpperCase().replaceAll("-", "_")}`;

/** Sign-ins of connectors whose tokens the gateway holds. */
export function createSignIn({ entries, file, env, callback, onSecret, clock, log, lookup }: OAuthDeps) {
  const network = { clock, ...(lookup && { lookup }) };
  const states = createStates<Open>(clock);

  /** The server as it is for someone without a token. */
  async function serverOf(id: string, config: Readonly<Record<string, unknown>> | undefined) {
    const entry = readEntry(config);
    if (typeof entry === "string") throw new GatewayError("INVALID_REQUEST", `The connector ${entry}.`);
    const lines = await file.read();
    const secrets = new Map<string, string>();
    for (const name of entry.placeholders) {
      const value = lines[secretKey(id, name)];
      if (name !== ACCESS && value) secrets.set(name, value);
    }
    for (const value of secrets.values()) onSecret(value);
    const server = entry.fill(secrets);
    if (!server || !("url" in server)) {
      throw new GatewayError("INVALID_REQUEST", "The connector has no url to sign in to.");
    }
    const templates = (config?.headers ?? {}) as Record<string, unknown>;
    const headers = Object.entries(server.headers ?? {}).filter(
      ([name]) => !String(templates[name]).includes(`{${ACCESS}}`),
    );
    return { ...server, headers: Object.fromEntries(headers) };
  }

  /** What was learned of a sign-in is used only while the connector is still the one it was begun for. */
  const isGone = ({ id, url }: Open) => {
    const now = entries();
    return !Object.hasOwn(now, id) || ownedUrl(now[id]) !== url;
  };

  /** @returns false when the connector was changed or removed meanwhile, so that nothing is stored */
  async function exchange(open: Open, code: string): Promise<boolean> {
    const { id, url, local, metadata, client, resource, verifier } = open;
    const fetch = createGuardedFetch({ ...network, local });
    const endpoint = metadata.token_endpoint;
    const params = {
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: open.callback,
      resource,
    };
    const { accessToken, refreshToken, life } = await requestTokens(fetch, { endpoint, client, params });
    for (const value of [accessToken, refreshToken]) if (value) onSecret(value);
    const grant = {
      endpoint,
      client,
      resource,
      local,
      ...(refreshToken !== undefined && { refreshToken }),
      ...(life !== undefined && { expiresAt: clock.now() + life * 1_000 }),
    };
    let gone = false;
    await file.edit(() => {
      gone = isGone(open);
      return gone ? undefined : { [tokenKey(id)]: accessToken, [bookKey(id)]: writeBook({ url, grant }) };
    });
    return !gone;
  }

  return {
    /**
     * Begins a sign-in; the answer is where a browser has to go.
     * @throws GatewayError 404, 400, 503 `UNAVAILABLE`, 502 `UPSTREAM_UNAVAILABLE`
     */
    async start(id: string, signal?: AbortSignal): Promise<{ authorizeUrl: string }> {
      const entry = requireEntry(entries(), id);
      const url = ownedUrl(entry);
      if (url === undefined) {
        throw new GatewayError("INVALID_REQUEST", "The gateway does not sign in to this connector itself.");
      }
      const server = await serverOf(id, entry.config);
      const back = callback();
      if (back === undefined) {
        throw new GatewayError(
          "UNAVAILABLE",
          "A sign-in needs an address to come back to: set gateway.publicUrl and restart the gateway.",
        );
      }
      const local = isLocalHost(hostOf(new URL(server.url)));
      const limit = new AbortController();
      const cancel = clock.after(LIMIT_MS, () => limit.abort());
      try {
        const base = {
          ...network,
          local,
          signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
        };
        const learned = createGuardedFetch(base);
        const owned = createGuardedFetch({ ...base, owned: true });
        const ownedHead = createGuardedFetch({ ...base, owned: true, headOnly: true });
        const found = await discover(server, { learned, owned, ownedHead, local });
        const { metadata, resource } = found;
        const variables = await env();
        const scope = variables[variableOf("MCP_OAUTH_SCOPES", id)] || withRefresh(found.scope, metadata);
        const variable = variableOf("MCP_OAUTH_CLIENT_ID", id);
        const client = await becomeClient({
          metadata,
          callback: back,
          scope,
          configured: variables[variable],
          variable,
          fetch: learned,
          onSecret,
        });
        const { authorizationUrl, codeVerifier } = await startAuthorization(metadata.issuer, {
          metadata,
          clientInformation: { client_id: client.id },
          redirectUrl: back,
          scope,
          resource,
        }).catch((error) => {
          throw failed("The authorization server does not offer the sign-in that the gateway needs.", error);
        });
        const open = { id, url, local, metadata, client, resource, callback: back, verifier: codeVerifier };
        authorizationUrl.searchParams.set("state", states.add(open));
        return { authorizeUrl: authorizationUrl.href };
      } finally {
        cancel();
      }
    },

    /** Ends a sign-in with what the browser brought back. Never rejects. */
    async finish(query: URLSearchParams): Promise<Outcome> {
      const open = states.take(only(query, "state") ?? "");
      if (!open) return { code: "expired_link" };
      const { id, metadata } = open;
      const warn = (message: string, err: unknown) => log.warn({ connector: id, err }, message);
      const error = only(query, "error");
      const named = query.getAll("iss");
      try {
        validateAuthorizationResponseIssuer({
          iss: named.length > 1 ? "" : named[0],
          expectedIssuer: metadata.issuer,
          // An error without it does no harm; a code without it may be another server's.
          issParameterSupported:
            error === undefined && metadata.authorization_response_iss_parameter_supported === true,
        });
      } catch (mismatch) {
        warn("sign-in of a connector failed: the reply came from another authorization server", mismatch);
        return { code: "exchange_failed" };
      }
      if (error !== undefined)
        return { code: PROVIDER_CODE.test(error) ? error : "provider_error", provider: true };
      const code = only(query, "code");
      if (!code) return { code: "missing_code" };
      if (isGone(open)) return { code: "connector_gone" };
      onSecret(code);
      try {
        if (!(await exchange(open, code))) return { code: "connector_gone" };
      } catch (failure) {
        warn("sign-in of a connector failed: no token came for its code", failure);
        return { code: "exchange_failed" };
      }
      log.info({ connector: id }, "signed in to a connector");
      return { connected: entries()[id]?.label ?? id };
    },
  };
}

/** A parameter may be there once (RFC 6749 3.1); empty counts as absent. */
function only(query: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = query.getAll(name);
  return more.length === 0 && value ? value : undefined;
}

const OFFLINE = "offline_access";

/** The scopes, with the one that brings a refresh token where the server knows it, or where nothing is known. */
function withRefresh(scope: string | undefined, metadata: ServerMetadata): string {
  if (!scope) return OFFLINE;
  const known = metadata.scopes_supported?.includes(OFFLINE);
  return known && !scope.split(" ").includes(OFFLINE) ? `${scope} ${OFFLINE}` : scope;
}
