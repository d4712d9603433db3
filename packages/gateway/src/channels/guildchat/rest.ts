import {
  RateLimitError,
  REST,
  type RESTOptions,
  type RequestMethod,
  type ResponseLike,
} from "@discordjs/rest";
import type { Clock } from "../../lib/clock.ts";
import { type Answer, deadline, exchange } from "../support/exchange.ts";
import { retryAfterMs, SEND_TIMEOUT_MS } from "../support/outcome.ts";
import { numberOf, objectOf, parseJson } from "../support/payload.ts";
import { API_VERSION, apiBase } from "./address.ts";

/** What came of a request. */
export type Result =
  | { kind: "done"; body: unknown }
  /** A complete answer that is no success. */
  | { kind: "refused"; status: number; code: number | undefined; said: string; afterMs: number | undefined }
  /** Over a rate limit: refused by the provider, or held back before it was sent. */
  | { kind: "limited"; afterMs: number }
  /** No complete answer. */
  | { kind: "broken"; error: unknown };

export interface Call {
  body?: unknown;
  form?: FormData;
  query?: URLSearchParams;
  signal: AbortSignal;
  /** Called right before the request is made; when it throws, none is. */
  begin?: () => void;
  /** When to give up, with all of the answer; 55 s unless told. */
  ms?: number;
}

export interface Api {
  /** One request, sent at most once. Never rejects. */
  call(method: "GET" | "POST" | "PATCH" | "PUT", path: `/${string}`, call: Call): Promise<Result>;
  close(): void;
}

class Refusal extends Error {
  readonly answer: Answer;
  constructor(answer: Answer) {
    super("refused");
    this.answer = answer;
  }
}

/** Seconds in the body of a 429, which are finer than the header's and come without it too. */
function waitOf({ text, headers }: Answer, now: number): number | undefined {
  const seconds = numberOf(objectOf(parseJson(Buffer.from(text))).retry_after);
  return seconds !== undefined && seconds >= 0
    ? seconds * 1000
    : retryAfterMs(headers.get("retry-after"), now);
}

const SHORTEST_WAIT_MS = 50;

/**
 * Discord's REST API by its own client, which keeps account of the rate limits of each route. It never repeats a
 * request and never waits: both are the outbox's business.
 */
export function createApi(settings: { botToken: string; apiBaseUrl: string | undefined; clock: Clock }): Api {
  const { botToken, clock } = settings;

  const makeRequest: RESTOptions["makeRequest"] = async (url, { method, body, headers, signal }) => {
    const init = { method, body, headers, signal } as RequestInit & { signal: AbortSignal };
    const answer = await exchange(url, init);
    const { status, text } = answer;
    const wait = status === 429 ? waitOf(answer, clock.now()) : undefined;
    if ((status < 200 || status >= 300) && status !== 429) throw new Refusal(answer);
    const known = new Headers(answer.headers);
    if (wait !== undefined) known.set("retry-after", String(wait / 1000));
    return new Response(text === "" ? null : text, { status, headers: known }) as ResponseLike;
  };

  const rest = new REST({
    api: apiBase(settings.apiBaseUrl),
    version: API_VERSION,
    retries: 0,
    // Each call has a limit of its own, which covers the body of the answer too.
    timeout: SEND_TIMEOUT_MS + 5_000,
    rejectOnRateLimit: () => true,
    makeRequest,
  }).setToken(botToken);

  return {
    async call(method, path, { body, form, query, signal, begin, ms = SEND_TIMEOUT_MS }) {
      const late = deadline(clock, ms, signal);
      try {
        begin?.();
        const answer = await rest.request({
          method: method as RequestMethod,
          fullRoute: path,
          signal: late.signal,
          ...(query && { query }),
          ...(form ? { body: form, passThroughBody: true } : body !== undefined && { body }),
        });
        return { kind: "done", body: answer };
      } catch (error) {
        if (error instanceof RateLimitError) {
          return { kind: "limited", afterMs: Math.max(SHORTEST_WAIT_MS, error.retryAfter) };
        }
        if (!(error instanceof Refusal)) return { kind: "broken", error };
        const { status, text, headers } = error.answer;
        const { code, message } = objectOf(parseJson(Buffer.from(text)));
        return {
          kind: "refused",
          status,
          code: numberOf(code),
          said: typeof message === "string" ? message.slice(0, 300) : "",
          afterMs: retryAfterMs(headers.get("retry-after"), clock.now()),
        };
      } finally {
        late.end();
      }
    },
    close() {
      rest.clearHashSweeper();
      rest.clearHandlerSweeper();
    },
  };
}
