import type { IncomingMessage, ServerResponse } from "node:http";
import { GatewayError, type RouteDecl } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { hasBody, readJson, watchRawBody } from "./body.ts";
import type { RequestContext } from "./endpoint.ts";
import { toGatewayError, validationError } from "./errors.ts";
import type { Guard } from "./guard.ts";
import type { HostGuard } from "./hosts.ts";
import type { Entered, InFlight } from "./in-flight.ts";
import { parseQuery } from "./query.ts";
import { send, sendError, setBaseHeaders } from "./reply.ts";
import type { CompiledRoute, Router } from "./router.ts";

export interface DispatchDeps {
  router: Router;
  guard: Guard;
  inFlight: InFlight;
  /** Throws while no new data may be stored. */
  takeSpace: () => void;
  takeToken: (route: CompiledRoute, id: string) => void;
  hosts: HostGuard;
  clock: Clock;
  log: Logger;
  onRequest?: ((method: string, route: string, status: number, ms: number) => void) | undefined;
}

/** How long the unread rest of a refused body may hold a connection. */
const UNREAD_MS = 30_000;
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

type Dispatch = (req: IncomingMessage, res: ServerResponse, requestId: string) => Promise<void>;

/** Takes one request through the checks in the order of contract section 3, then to its handler. Never rejects. */
export function createDispatcher(deps: DispatchDeps): Dispatch {
  const { router, guard, inFlight, takeToken, takeSpace, hosts, clock, log, onRequest } = deps;
  const fail = (
    req: IncomingMessage,
    res: ServerResponse,
    requestId: string,
    error: unknown,
    route: CompiledRoute | undefined,
  ) => {
    const shown = toGatewayError(error);
    if (shown.status >= 500 && !(error instanceof GatewayError && shown.code !== "INTERNAL")) {
      log.error({ err: error, requestId, method: req.method }, "request failed");
    }
    sendError(res, requestId, shown, route ? route.decl.form : router.form(req.url as string));
    dropUnread(req);
  };
  const dropUnread = (req: IncomingMessage) => {
    if (!req.complete && hasBody(req)) clock.after(UNREAD_MS, () => req.complete || req.destroy());
  };

  return async (req, res, requestId) => {
    let route: CompiledRoute | undefined;
    let entered: Entered | undefined;
    const method = req.method as string;
    const started = performance.now();
    try {
      hosts.check(req, !SAFE.has(method));
      const match = router.find(method, req.url as string);
      route = match.route;
      const { decl } = route;
      const agentId = route.hasAgent ? match.params.agentId : undefined;
      const principal = guard.admit(req, route, agentId);
      if (route.needsKey) {
        // Before the body is read: a key over its limit must not cause a megabyte of parsing.
        takeToken(route, principal.id);
        inFlight.takeRoom(principal.id);
        entered = inFlight.enter({ res, requestId, route, agentId, principal });
      }
      const params = decl.params ? validate(decl.params, match.params, "path") : match.params;
      await route.find?.(match.params, principal);
      const query = decl.query ? validate(decl.query, parseQuery(match.query), "query") : undefined;
      const late = (error: GatewayError) => sendError(res, requestId, error, decl.form);
      const body = await readBody(decl, req, res, clock, late);
      // The body may have taken long to arrive.
      entered?.confirm();
      if (decl.stores) takeSpace();
      if (decl.rawReply === "stream") res.setHeader("x-request-id", requestId);
      // A stream sets them when it begins: a reply without headers of its own goes out in one piece.
      else if (decl.rawReply && decl.rawReply !== "sse") setBaseHeaders(res, requestId);
      const confirm = () => entered?.confirm();
      const takeRoom = () => inFlight.takeRoom(principal.id);
      const context = new Context(req, res, requestId, {
        params,
        query,
        body,
        principal,
        confirm,
        takeRoom,
      } as Parts);
      // The result of a change is sent in any case; a read can be repeated.
      await send(res, requestId, await route.handler(context), SAFE.has(method) ? takeRoom : undefined);
      dropUnread(req);
    } catch (error) {
      try {
        const page = await pageInstead(route, req, error);
        if (page) await send(res, requestId, page);
        else fail(req, res, requestId, error, route);
      } catch (failure) {
        fail(req, res, requestId, failure, route);
      }
    }
    entered?.leave();
    onRequest?.(method, route?.decl.path ?? "unknown", res.statusCode, performance.now() - started);
  };
}

/** The page that a browser gets instead of a 401. */
function pageInstead(route: CompiledRoute | undefined, req: IncomingMessage, error: unknown) {
  if (!route?.unauthorized || !(error instanceof GatewayError) || error.status !== 401) return undefined;
  return req.headers.accept?.includes("text/html") ? route.unauthorized(error) : undefined;
}

type Schema = NonNullable<RouteDecl["body"]>;

/** Each schema is built on the first request that needs it. */
const built = new Map<Schema, ReturnType<Schema>>();
function builtOnce(make: Schema): ReturnType<Schema> {
  let schema = built.get(make);
  if (!schema) {
    schema = make();
    built.set(make, schema);
  }
  return schema;
}

function validate(make: Schema, value: unknown, where: "path" | "query" | "body") {
  const result = builtOnce(make).safeParse(value);
  if (!result.success) throw validationError(result.error.issues, where);
  return result.data;
}

async function readBody(
  decl: RouteDecl,
  req: IncomingMessage,
  res: ServerResponse,
  clock: Clock,
  late: (error: GatewayError) => void,
) {
  if (req.headers.expect?.toLowerCase() === "100-continue") res.writeContinue();
  if (decl.rawBody === "stream") return undefined;
  if (decl.rawBody) {
    watchRawBody(req, clock, decl.rawBody, late);
    return undefined;
  }
  if (!decl.body) return undefined;
  const value = await readJson(req, clock, decl.maxBodyBytes);
  if (value === undefined && decl.bodyOptional) return undefined;
  // A missing body gets the same reply as an empty one: the names of the required fields.
  return validate(decl.body, value === undefined ? {} : value, "body");
}

type Parts = Pick<RequestContext, "params" | "query" | "body" | "principal" | "confirm" | "takeRoom">;

/** A class, because its accessor would make a hash table of an object literal. */
class Context implements RequestContext {
  readonly params: Parts["params"];
  readonly query: Parts["query"];
  readonly body: Parts["body"];
  readonly principal: Parts["principal"];
  readonly confirm: Parts["confirm"];
  readonly takeRoom: Parts["takeRoom"];
  readonly requestId: string;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  #controller: AbortController | undefined;

  constructor(req: IncomingMessage, res: ServerResponse, requestId: string, parts: Parts) {
    this.params = parts.params;
    this.query = parts.query;
    this.body = parts.body;
    this.principal = parts.principal;
    this.confirm = parts.confirm;
    this.takeRoom = parts.takeRoom;
    this.requestId = requestId;
    this.req = req;
    this.res = res;
  }

  /** Created on first use: most handlers never need it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      const made = new AbortController();
      this.#controller = made;
      const { res } = this;
      const leave = () => res.writableFinished || made.abort();
      if (res.closed || res.destroyed) leave();
      else res.once("close", leave);
    }
    return this.#controller.signal;
  }
}
