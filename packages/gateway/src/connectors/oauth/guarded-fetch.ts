import { lookup as systemLookup } from "node:dns";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import { faultOf, hostOf, placeOf } from "./addresses.ts";

const LIMIT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;
const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const NO_BODY = new Set([204, 205, 304]);

/** Where a request went wrong on the way; the message is the end of a sentence, without what the server said. */
export class UnreachableError extends TypeError {
  override name = "UnreachableError";
}

export interface GuardedFetchOptions {
  clock: Clock;
  /** Whether the connector's host is local: only then may addresses be http, loopback or private. */
  local: boolean;
  /**
   * The first address is the owner's, or made from it, and may be http or in a private network. A redirect from it is
   * judged like any other.
   */
  owned?: boolean;
  /** Resolves as soon as the head of the reply is there, with an empty body. */
  headOnly?: boolean;
  signal?: AbortSignal | undefined;
  lookup?: typeof systemLookup;
}

export type GuardedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * `fetch` for addresses that a server named: each of at most three redirects is judged, and so is each address that a
 * name stands for when the connection is made. 10 s and 1 MiB for all of it. A body, which may hold credentials, goes
 * to no other origin.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const { clock, local, owned = false, headOnly = false } = options;

  return async (first, init = {}) => {
    const method = (init.method ?? "GET").toUpperCase();
    const body = init.body === undefined || init.body === null ? undefined : String(init.body);
    const headers = Object.fromEntries(new Headers(init.headers));
    const overdue = new AbortController();
    const cancel = clock.after(LIMIT_MS, () => overdue.abort());
    const signals = [overdue.signal, ...(options.signal ? [options.signal] : [])];
    try {
      let url = new URL(first);
      for (let followed = 0; ; followed++) {
        const trusted = owned && followed === 0;
        if (!trusted) {
          const fault = faultOf(url, local);
          if (fault) throw new UnreachableError(`named an address that ${fault}`);
        }
        const reply = await exchange(url, {
          method,
          headers,
          body,
          signal: AbortSignal.any(signals),
          headOnly,
          lookup: guardedLookup(local || trusted, options.lookup ?? systemLookup),
        });
        const target = redirectOf(reply, url);
        if (!target) return reply;
        if (followed === MAX_REDIRECTS) throw new UnreachableError("redirected too often");
        const keeps = method === "GET" || reply.status === 307 || reply.status === 308;
        if (!keeps || (method !== "GET" && target.origin !== url.origin)) {
          throw new UnreachableError("redirected a request that must not be sent elsewhere");
        }
        url = target;
      }
    } catch (error) {
      if (overdue.signal.aborted) throw new UnreachableError("did not answer within 10 seconds");
      if (error instanceof UnreachableError) throw error;
      throw new UnreachableError("could not be reached", { cause: error });
    } finally {
      cancel();
    }
  };
}

function redirectOf({ status, headers }: Response, from: URL): URL | undefined {
  const location = REDIRECTS.has(status) ? headers.get("location") : null;
  if (location === null) return undefined;
  if (!URL.canParse(location, from)) throw new UnreachableError("redirected to no address");
  return new URL(location, from);
}

interface Exchange {
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
  signal: AbortSignal;
  headOnly: boolean;
  lookup: LookupFunction;
}

/** One request on a connection of its own, which nobody else's judgement was passed on. */
function exchange(
  url: URL,
  { method, headers, body, signal, headOnly, lookup }: Exchange,
): Promise<Response> {
  const host = hostOf(url);
  if (isIP(host) !== 0 && placeOf(host) === "refused") {
    throw new UnreachableError("named an address that is not public");
  }
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(url, {
      method,
      agent: false,
      signal,
      lookup,
      headers: {
        ...headers,
        "accept-encoding": "identity",
        ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
      },
    });
    request.on("error", reject);
    request.on("response", (reply) => {
      const read = async () => asResponse(reply, headOnly ? null : await bytesOf(reply));
      read()
        .then(resolve, reject)
        .finally(() => request.destroy());
    });
    request.end(body);
  });
}

async function bytesOf(reply: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of reply as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new UnreachableError("sent more than 1 MiB");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function asResponse(reply: IncomingMessage, bytes: Buffer<ArrayBuffer> | null): Response {
  const status = reply.statusCode ?? 0;
  if (status < 200 || status > 599) throw new UnreachableError("sent no valid reply");
  const headers = new Headers();
  for (const [name, values] of Object.entries(reply.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return new Response(NO_BODY.has(status) ? null : bytes, { status, headers });
}

/** Resolves names, and leaves out the addresses that may not be reached, so that no later answer can differ. */
function guardedLookup(local: boolean, lookup: typeof systemLookup): LookupFunction {
  return (hostname, { family, hints, all }, done) => {
    const wanted = {
      all: true as const,
      ...(family !== undefined && { family }),
      ...(hints !== undefined && { hints }),
    };
    lookup(hostname, wanted, (error, found) => {
      if (error) return done(error, []);
      const allowed = found.filter(({ address }) => {
        const place = placeOf(address);
        return place === "public" || (local && place === "local");
      });
      const [first] = allowed;
      if (!first) return done(new UnreachableError("named an address that is not public"), []);
      if (all) done(null, allowed);
      else done(null, first.address, first.family);
    });
  };
}
