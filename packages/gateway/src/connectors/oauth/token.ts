import * as z from "zod";
import type { Client } from "./book.ts";
import { type GuardedFetch, UnreachableError } from "./guarded-fetch.ts";

/** The server has answered that it gives no token. */
export class RefusedError extends Error {
  override name = "RefusedError";
  constructor(code: string) {
    super(`refused: ${code}`);
  }
}

/** With these statuses an `error` is the server's own word on the request. */
const ANSWERED = new Set([200, 400, 401, 403]);
/** Answers of a server that is in trouble itself. */
const PASSING = new Set(["server_error", "temporarily_unavailable", "slow_down", "too_many_requests"]);
const CODE = /^[a-z_]{1,64}$/;
/** More does not fit into a header. */
const MAX_TOKEN_CHARS = 16 * 1024;
const MAX_LIFE_S = 10 * 365 * 86_400;

/** What RFC 6750 allows in a header, and so in one line of a file. */
const token = z
  .string()
  .regex(/^[\x21-\x7e]+$/)
  .max(MAX_TOKEN_CHARS);
const answer = z.object({
  access_token: token,
  token_type: z.string().regex(/^bearer$/i),
  expires_in: z.coerce.number().min(0).optional().catch(undefined),
  refresh_token: token.optional(),
});
const refusal = z.object({ error: z.string() });

export interface Tokens {
  accessToken: string;
  refreshToken: string | undefined;
  /** Seconds. */
  life: number | undefined;
}

const formEncoded = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);

/**
 * Asks a token endpoint. The SDK's own request would refuse http in the owner's network, and puts a client's id and
 * secret into the `Authorization` header without the encoding that RFC 6749 2.3.1 demands.
 * @throws RefusedError when the server refuses for good, UnreachableError for all that may pass
 */
export async function requestTokens(
  send: GuardedFetch,
  { endpoint, client, params }: { endpoint: string; client: Client; params: Record<string, string> },
): Promise<Tokens> {
  const { id, secret, method } = client;
  const body = new URLSearchParams(params);
  const headers: Record<string, string> = {
    "content-type": "application/x-www-form-urlencoded",
    accept: "application/json",
  };
  if (method === "client_secret_basic" && secret !== undefined) {
    const pair = `${formEncoded(id)}:${formEncoded(secret)}`;
    headers.authorization = `Basic ${Buffer.from(pair).toString("base64")}`;
  } else {
    body.set("client_id", id);
    if (method === "client_secret_post" && secret !== undefined) body.set("client_secret", secret);
  }
  const reply = await send(endpoint, { method: "POST", headers, body: body.toString() });
  const json: unknown = await reply.json().catch(() => undefined);
  // Some servers send errors with status 200.
  const refused = refusal.safeParse(json).data?.error;
  if (refused !== undefined && ANSWERED.has(reply.status) && !PASSING.has(refused)) {
    throw new RefusedError(CODE.test(refused) ? refused : "another error");
  }
  const found = reply.ok ? answer.safeParse(json).data : undefined;
  if (!found) throw new UnreachableError(`sent no usable token (status ${reply.status})`);
  return {
    accessToken: found.access_token,
    refreshToken: found.refresh_token,
    life: found.expires_in === undefined ? undefined : Math.min(found.expires_in, MAX_LIFE_S),
  };
}
