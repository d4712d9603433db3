import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { BodyOf, GatewayError, ParamsOf, QueryOf, ReplyOf, RouteDecl } from "@agent-gateway/contract";
import type { Principal } from "../auth/index.ts";

/** A validated, authorised request. */
export interface RequestContext<D extends RouteDecl = RouteDecl> {
  readonly params: ParamsOf<D>;
  readonly query: QueryOf<D>;
  readonly body: BodyOf<D>;
  readonly principal: Principal;
  /**
   * To be called before the effect of a `rawBody` that the handler reads: it may take long to arrive.
   * @throws GatewayError when the key no longer has the right that the request started with.
   */
  confirm(): void;
  /** Also the reply's `x-request-id` header and the id of the turn that the request starts. */
  readonly requestId: string;
  /** Aborted when the client disconnects before the reply is complete. */
  readonly signal: AbortSignal;
  /**
   * Call this before collecting what may become a large reply, if the request has waited since it was admitted.
   * @throws GatewayError `RATE_LIMITED` while too much is waiting for this key's clients to read it
   */
  takeRoom(): void;
  /** The request itself; a `rawBody` is read from here. */
  readonly req: IncomingMessage;
  /** Only for `rawReply` routes, which return `handled`; request id and security headers are already set, or set by the stream (`sse`). */
  readonly res: ServerResponse;
}

/** A handler's reply: JSON with a declared status, a stream, or `handled` when it wrote to `res` itself. */
export type Reply<Body = unknown> =
  | { status: number; json: Body; headers?: Record<string, string> }
  | { status: number; headers?: Record<string, string>; empty: true }
  /** `live`: the head goes out at once, and so does each piece. */
  | { status: number; headers: Record<string, string | string[]>; stream: Readable; live?: true }
  | { status: number; headers: Record<string, string>; bytes: Uint8Array | string }
  | { handled: true };

export type Handler<D extends RouteDecl> = (
  context: RequestContext<D>,
) => Promise<Reply<ReplyOf<D>>> | Reply<ReplyOf<D>>;

/** A declaration with the code that implements it. */
export interface Endpoint {
  readonly decl: RouteDecl;
  readonly handler: Handler<RouteDecl>;
  /**
   * Called before query and body are judged.
   * @throws GatewayError 404 for a thing that is not there, 403 for one out of the key's reach
   */
  readonly find?:
    | ((params: Readonly<Record<string, string | undefined>>, principal: Principal) => Promise<void> | void)
    | undefined;
  /** What a browser (`Accept: text/html`) gets instead of a JSON 401. */
  readonly unauthorized?: ((error: GatewayError) => Promise<Reply> | Reply) | undefined;
}

/**
 * Binds a handler to its declaration, with typed params, query, body and replies.
 * @example endpoint(routes.health, () => ({ status: 200, json: { status: "ok" } }))
 */
export function endpoint<const D extends RouteDecl>(
  decl: D,
  handler: Handler<D>,
  options: Pick<Endpoint, "unauthorized" | "find"> = {},
): Endpoint {
  return { decl, handler: handler as unknown as Handler<RouteDecl>, ...options };
}

/** Shorthand for the most common reply. */
export function json<T>(body: T, status = 200, headers?: Record<string, string>): Reply<T> {
  return { status, json: body, ...(headers && { headers }) };
}
