import { randomUUID } from "node:crypto";
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { GatewayError, type SocketDecl } from "@agent-gateway/contract";
import type { WebSocket } from "ws";
import { type Principal, presentedKey, type Tickets } from "../auth/index.ts";
import type { Logger } from "../lib/logger.ts";
import { errorBody, toGatewayError } from "./errors.ts";
import type { Guard } from "./guard.ts";
import type { HostGuard } from "./hosts.ts";
import { checkPath, parseQuery } from "./query.ts";
import { createRouteTree } from "./route-tree.ts";
import type { Sockets } from "./sockets.ts";

/** A declared WebSocket route with the code behind it. */
export interface SocketEndpoint {
  decl: SocketDecl;
  /** Those that this route accepts. */
  tickets: Pick<Tickets, "take">;
  /** Called for a caller with a key. @throws GatewayError `SESSION_NOT_FOUND` */
  requireSession(agentId: string, sessionId: string): Promise<void>;
  /** Takes over an open socket. */
  open(socket: WebSocket, of: { agentId: string; sessionId: string; principal: Principal }): void;
}

export interface UpgradeDeps {
  endpoints: readonly SocketEndpoint[];
  /** The routes are also served below this path. */
  publicPath: string | undefined;
  hosts: HostGuard;
  guard: Guard;
  sockets: Sockets;
  takeToken(route: { decl: { auth: SocketDecl["level"] } }, id: string): void;
  log: Logger;
  /** True from the moment on that nothing new is accepted. */
  closing(): boolean;
}

/** RFC 6455, section 7.4.1. */
const INTERNAL_CLOSE = 1011;
/** Longest segment of a path. */
const MAX_PARAM_CHARS = 4096;

/** True for requests that ask for a WebSocket; other upgrades (h2c) are offers that HTTP/1.1 may ignore. */
export function isWebSocket(req: IncomingMessage): boolean {
  return req.headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * The only owner of upgrades: every WebSocket is dispatched from here, after the checks that every request gets. What
 * is wrong is told by an HTTP reply, before the upgrade. The library is loaded by the first socket.
 */
export function createUpgradeHandler(
  deps: UpgradeDeps,
): (req: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void> {
  const { hosts, guard, sockets, closing } = deps;
  const tree = createRouteTree<SocketEndpoint>(MAX_PARAM_CHARS);
  for (const endpoint of deps.endpoints) tree.add("GET", endpoint.decl.path, endpoint);

  const find = (url: string) => {
    const [path = "", query = ""] = splitOnce(url, "?");
    const own = deps.publicPath !== undefined && path.startsWith(`${deps.publicPath}/`);
    const asked = own ? path.slice(deps.publicPath!.length) : path;
    checkPath(asked);
    const found = tree.find("GET", asked);
    if (!found) throw new GatewayError("NOT_FOUND");
    return { endpoint: found.value, agentId: found.params.agentId ?? "", query: parseQuery(query) };
  };

  /** Who opens the socket, and for which session. */
  const admit = async (req: IncomingMessage, { endpoint, agentId, query }: ReturnType<typeof find>) => {
    const route = { needsKey: true, decl: { auth: endpoint.decl.level } } as const;
    const judge = (principal: Principal) => guard.judge(principal, route, agentId);
    if (query.ticket !== undefined) {
      const holder = endpoint.tickets.take(query.ticket);
      if (holder?.agentId !== agentId) {
        throw new GatewayError("FORBIDDEN", "The ticket is unknown, used, too old or for something else.");
      }
      const { principal, sessionId } = holder;
      const judgeHolder = holder.judge ?? (() => judge(principal));
      const error = judgeHolder();
      if (error) throw error;
      deps.takeToken(route, principal.id);
      return { principal, sessionId, judge: judgeHolder };
    }
    // A page sends its cookie wherever it connects to, so a login has to ask for a ticket.
    if (!presentedKey(req.headers)) throw new GatewayError("API_KEY_MISSING");
    const principal = guard.admit(req, route, agentId);
    deps.takeToken(route, principal.id);
    const sessionId = query.session;
    if (!sessionId) {
      throw new GatewayError("INVALID_REQUEST", "session: is required.", {
        details: [{ path: "session", message: "is required" }],
      });
    }
    await endpoint.requireSession(agentId, sessionId);
    return { principal, sessionId, judge: () => judge(principal) };
  };

  return async (req, socket, head) => {
    socket.on("error", () => socket.destroy());
    try {
      hosts.check(req, true);
      const found = find(req.url as string);
      const { principal, sessionId, judge } = await admit(req, found);
      const { WebSocketServer } = await import("ws");
      // The right may be gone since, or the gateway be stopping.
      const error = closing() ? new GatewayError("UNAVAILABLE", "The gateway is stopping.") : judge();
      if (error) throw error;
      // Counted only from `add` on, so no await may lie between.
      sockets.takeRoom(principal.id);
      const { endpoint, agentId } = found;
      const server = new WebSocketServer({
        noServer: true,
        clientTracking: false,
        perMessageDeflate: false,
        maxPayload: endpoint.decl.maxMessageBytes,
      });
      server.on("wsClientError", () =>
        endRaw(socket, new GatewayError("INVALID_REQUEST", "This is not a valid WebSocket handshake.")),
      );
      server.handleUpgrade(req, socket, head, (open) => {
        sockets.add({ socket: open, principal, judge });
        try {
          endpoint.open(open, { agentId, sessionId, principal });
        } catch (failure) {
          deps.log.error({ err: failure, route: endpoint.decl.path }, "could not serve a WebSocket");
          open.close(INTERNAL_CLOSE, "Internal error.");
        }
      });
    } catch (error) {
      if (!(error instanceof GatewayError)) deps.log.error({ err: error }, "could not open a WebSocket");
      endRaw(socket, toGatewayError(error));
    }
  };
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** Replies on a bare socket, where there is no `ServerResponse`, and closes it. */
export function endRaw(socket: Duplex, error: GatewayError): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = randomUUID();
  const body = JSON.stringify(errorBody(error, requestId));
  const more = Object.entries({
    ...error.headers,
    ...(error.status === 401 && { "WWW-Authenticate": "Bearer" }),
  });
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n` +
      `x-request-id: ${requestId}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      more.map(([name, value]) => `${name}: ${value}\r\n`).join("") +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
