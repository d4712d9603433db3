import type * as z from "zod";
import type { ErrorCode } from "./errors.ts";
import type { Lazy } from "./lazy.ts";

/** Who may call a route. `ticket` and `signature` routes verify themselves as their first step. */
export type AuthLevel = "none" | "key" | "write" | "admin" | "ticket" | "signature";
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Shape = Lazy<z.ZodObject<z.ZodRawShape>>;

/**
 * Type of a body that is not JSON; each is passed on as it arrives. `binary` and `ndjson` have deadlines, `stream` has
 * neither a deadline nor a limit: a proxy hands it on.
 */
export type RawBody = "binary" | "ndjson" | "stream";
/** Type of a reply that is not JSON. A `stream` has the headers of its source and no others but `x-request-id`. */
export type RawReply = "sse" | "ndjson" | "binary" | "text" | "html" | "stream";
/** How errors look on the wire, in replies and in streams: the gateway's own way, or that of the OpenAI API. */
export type WireForm = "gateway" | "openai";

/** How a route appears in the command-line client; absent if it makes no sense in a shell. */
export interface CliDecl {
  noun: string;
  verb: string;
  /** Path or body fields taken as positional arguments, in order. */
  args?: readonly string[];
  /**
   * Flag names (without dashes) that stand for a field of another name, `{ chat: "chat_id" }`, or for one of its
   * values: `{ group: "kind=group" }`.
   */
  flags?: Readonly<Record<string, string>>;
  /**
   * Arguments that select this route among those that share the command, and are not sent:
   * `{ channel: "botchat" }`. All routes of a command use the same names here, in the same places in `args`.
   */
  fixed?: Readonly<Record<string, string>>;
  /** Query fields that the command always sends, and does not offer as flags. */
  query?: Readonly<Record<string, string>>;
  /** Description of the command, if several routes share it. */
  summary?: string;
}

export interface RouteDecl {
  method: Method;
  /** Full path with `:name` parameters; a last segment `*` takes the rest. */
  path: string;
  auth: AuthLevel;
  /** Monitoring routes: admin key or dashboard session; a lesser key is 401; open on a keyless loopback. */
  monitor?: true;
  summary: string;
  tag: string;
  params?: Shape;
  query?: Shape;
  body?: Lazy<z.ZodType>;
  /** True if the body may be missing. */
  bodyOptional?: true;
  /** Largest JSON body; 1 MiB if absent. */
  maxBodyBytes?: number;
  rawBody?: RawBody;
  rawReply?: RawReply;
  /** JSON replies by status; `null` if the status has no body. */
  responses: Readonly<Record<number, Lazy<z.ZodType> | null>>;
  /** Stores something new: 503 while the disk is nearly full. */
  stores?: true;
  /** Any gateway that has the agent in its configuration can answer, not only the one that serves the agent. */
  anyGateway?: true;
  /** Codes in addition to those of auth and validation. */
  errors?: readonly ErrorCode[];
  /** Form of every error of this route, also of one that is found before its handler runs; `gateway` if absent. */
  form?: WireForm;
  cli?: CliDecl;
}

/** A WebSocket route. The caller shows a ticket (`?ticket=`), or a key of this level in a header and `?session=`. */
export interface SocketDecl {
  /** Full path with `:agentId`. */
  path: string;
  level: "key" | "write" | "admin";
  summary: string;
  /** A longer message closes the socket with 1009. */
  maxMessageBytes: number;
}

/** Declares a route; the result keeps its literal types. A route without `auth` does not compile. */
export function route<const D extends RouteDecl>(decl: D): D {
  return decl;
}

type Out<T> = T extends Lazy<infer S extends z.ZodType> ? z.output<S> : undefined;
export type ParamsOf<D extends RouteDecl> =
  D["params"] extends Lazy<infer S extends z.ZodType> ? z.output<S> : Record<string, string>;
export type QueryOf<D extends RouteDecl> = Out<D["query"]>;
export type BodyOf<D extends RouteDecl> = Out<D["body"]>;
type In<T> = T extends Lazy<infer S extends z.ZodType> ? z.input<S> : undefined;
export type ReplyOf<D extends RouteDecl> = {
  [S in keyof D["responses"]]: In<D["responses"][S]>;
}[keyof D["responses"]];

/**
 * Codes that a declaration implies: those of its auth level, parameters and body. Any request can have a broken
 * address or an unknown `Host`.
 */
export function impliedErrors(decl: RouteDecl): ErrorCode[] {
  const codes = new Set<ErrorCode>(["INVALID_REQUEST", "FORBIDDEN", "RATE_LIMITED", "INTERNAL"]);
  if (decl.auth === "key" || decl.auth === "write" || decl.auth === "admin") {
    for (const code of ["API_KEY_MISSING", "API_KEY_INVALID"] as const) codes.add(code);
  }
  if (decl.auth !== "signature" && decl.path.includes(":agentId")) codes.add("AGENT_NOT_FOUND");
  if (decl.body) {
    for (const code of ["INVALID_JSON", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"] as const)
      codes.add(code);
  }
  if (decl.monitor || decl.stores) codes.add("UNAVAILABLE");
  for (const code of decl.errors ?? []) codes.add(code);
  return [...codes];
}
