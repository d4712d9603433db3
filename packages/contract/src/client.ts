import type * as z from "zod";
import { ERROR_CODES, type ErrorCode, type ErrorDetail, GatewayError } from "./errors.ts";
import { DONE, type TurnFrame } from "./events.ts";
import type { RouteDecl } from "./route.ts";
import { type RouteName, routes } from "./routes/index.ts";
import { readSse } from "./sse-reader.ts";

type Decl<N extends RouteName> = (typeof routes)[N];
type InputOf<D, K extends string> = D extends { [P in K]: infer S extends () => z.ZodType }
  ? z.input<ReturnType<S>>
  : undefined;
type Part<K extends string, T> = [T] extends [undefined]
  ? { [P in K]?: undefined }
  : Record<never, never> extends T
    ? { [P in K]?: T }
    : { [P in K]: T };
/** Query fields are sent as text; numbers are accepted too. */
type Fields<T> = { [K in keyof T]: T[K] extends string | undefined ? T[K] | number : T[K] };

interface Common {
  signal?: AbortSignal | undefined;
  headers?: Record<string, string>;
}
/** Arguments of a call to the route. A raw body (upload, import) is anything that `fetch` can send. */
export type CallInput<N extends RouteName> = Part<"params", InputOf<Decl<N>, "params">> &
  Part<"query", Fields<InputOf<Decl<N>, "query">>> &
  (Decl<N> extends { rawBody: string } ? { body: BodyInit } : Part<"body", InputOf<Decl<N>, "body">>) &
  Common;
type Arguments<N extends RouteName> =
  Record<never, never> extends CallInput<N> ? [input?: CallInput<N>] : [input: CallInput<N>];
type Replies<R> = {
  [S in keyof R]: R[S] extends () => z.ZodType ? z.output<ReturnType<R[S]>> : undefined;
}[keyof R];
/** The route's JSON reply; undefined if it has none. */
export type CallReply<N extends RouteName> = Replies<Decl<N>["responses"]>;

/** Calls the gateway's routes. Every method rejects with a `GatewayError`, or with the reason of its signal. */
export interface Client {
  /** The JSON reply. */
  call<N extends RouteName>(name: N, ...args: Arguments<N>): Promise<CallReply<N>>;
  /**
   * The frames of a turn as they arrive; makes `sendMessage` stream. Ends after the last frame, throws
   * `UPSTREAM_UNAVAILABLE` if the stream breaks off early, and yields nothing if there is no turn (204).
   * @example for await (const frame of client.stream("sendMessage", { params, body })) show(frame)
   */
  stream<N extends RouteName>(name: N, ...args: Arguments<N>): AsyncGenerator<TurnFrame, void>;
  /** The response itself, for files, NDJSON and text. */
  raw<N extends RouteName>(name: N, ...args: Arguments<N>): Promise<Response>;
}

export interface ClientOptions {
  /** `http://127.0.0.1:10850`, or any URL where a proxy serves it. */
  baseUrl: string;
  /** Absent in a browser with a dashboard session. */
  key?: string | undefined;
  fetch?: typeof globalThis.fetch;
}

interface Loose extends Common {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
}

/** Creates a stateless client. */
export function createClient({ baseUrl, key, fetch = globalThis.fetch }: ClientOptions): Client {
  const base = baseUrl.replace(/(?<!\/)\/+$/, "");

  const send = async (name: RouteName, input: Loose = {}, accept?: string): Promise<Response> => {
    const decl: RouteDecl = routes[name];
    const headers = new Headers(input.headers);
    if (key) headers.set("x-api-key", key);
    if (accept) headers.set("accept", accept);
    const init: RequestInit & { duplex?: "half" } = { method: decl.method, headers };
    if (input.signal) init.signal = input.signal;
    if (decl.rawBody) {
      init.body = input.body as BodyInit;
      if (input.body instanceof ReadableStream) init.duplex = "half";
    } else if (input.body !== undefined) {
      headers.set("content-type", "application/json");
      init.body = JSON.stringify(input.body);
    }
    const url = `${base}${pathOf(decl, input.params ?? {})}${queryOf(input.query)}`;
    const response = await fetch(url, init).catch((cause: unknown) => {
      input.signal?.throwIfAborted();
      throw new GatewayError("UPSTREAM_UNAVAILABLE", `The gateway at ${base} did not answer.`, { cause });
    });
    if (response.status >= 400) throw await errorOf(response);
    return response;
  };

  return {
    async call<N extends RouteName>(name: N, ...[input]: Arguments<N>) {
      const response = await send(name, input as Loose | undefined, "application/json");
      const text = await response.text();
      return (text === "" ? undefined : JSON.parse(text)) as CallReply<N>;
    },
    async *stream<N extends RouteName>(name: N, ...[input]: Arguments<N>) {
      const given = (input ?? {}) as Loose;
      const body = name === "sendMessage" ? { ...(given.body as object), stream: true } : given.body;
      const response = await send(name, { ...given, body }, "text/event-stream");
      if (response.status !== 204) yield* readTurn(response);
    },
    raw: (name, ...[input]) => send(name, input as Loose | undefined),
  };
}

/**
 * The frames in a streamed response.
 * @throws TypeError for a reply that is not a stream, such as that of a slash command
 */
export async function* readTurn(response: Response): AsyncGenerator<TurnFrame, void> {
  if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
    await response.body?.cancel();
    throw new TypeError("this reply is not a stream");
  }
  for await (const { data } of readSse(response.body)) {
    if (data === DONE) return;
    yield JSON.parse(data) as TurnFrame;
  }
  throw new GatewayError("UPSTREAM_UNAVAILABLE", "The stream broke off before it was complete.");
}

function pathOf(decl: RouteDecl, params: Record<string, string>): string {
  return decl.path.replace(/:(\w+)|\*$/g, (found, name: string | undefined) => {
    const value = params[name ?? found];
    const segments = name ? [value] : (value?.split("/") ?? [value]);
    return segments.map((segment) => encodeSegment(segment, name ?? "path")).join("/");
  });
}

function encodeSegment(segment: string | undefined, name: string): string {
  // URL parsers resolve dot segments, escaped or not, which would send the request to another route.
  if (segment === undefined || segment === "" || segment === "." || segment === "..") {
    const message = "is required, and cannot be . or ..";
    throw new GatewayError("INVALID_REQUEST", `${name}: ${message}.`, { details: [{ path: name, message }] });
  }
  return encodeURIComponent(segment);
}

function queryOf(query: Record<string, unknown> = {}): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) fields.set(name, String(value));
  return fields.size > 0 ? `?${fields}` : "";
}

/** The error that a response carries, with its `request_id` and further fields in `extra`. */
export async function errorOf(response: Response): Promise<GatewayError> {
  const { status } = response;
  const wait = response.headers.get("retry-after");
  const headers = wait ? { headers: { "retry-after": wait } } : {};
  const parsed: unknown = await response.json().catch(() => undefined);
  const { error: told, code, details, ...extra } = (parsed ?? {}) as Record<string, unknown>;
  // A route in the form of the OpenAI API has the sentence one level deeper.
  const error = typeof told === "object" ? (told as { message?: unknown } | null)?.message : told;
  if (typeof error !== "string" || typeof code !== "string" || !Object.hasOwn(ERROR_CODES, code)) {
    return new GatewayError(
      "UPSTREAM_UNAVAILABLE",
      `The server answered ${status}, but not in the gateway's error format.`,
      {
        status,
        ...headers,
      },
    );
  }
  return new GatewayError(code as ErrorCode, error, {
    status,
    extra,
    ...headers,
    ...(Array.isArray(details) && { details: details as ErrorDetail[] }),
  });
}
