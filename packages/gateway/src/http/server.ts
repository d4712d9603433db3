import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { GatewayError } from "@agent-gateway/contract";
import type { Authenticator, DashboardSessions } from "../auth/index.ts";
import type { Config } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { type Connections, watchConnections } from "./connections.ts";
import { createDispatcher } from "./dispatch.ts";
import type { Endpoint } from "./endpoint.ts";
import { createGuard } from "./guard.ts";
import { createHostGuard } from "./hosts.ts";
import { createInFlight } from "./in-flight.ts";
import { inTurn } from "./pipeline.ts";
import { createRateLimiter } from "./rate-limit.ts";
import { createRouter } from "./router.ts";
import { createSockets } from "./sockets.ts";
import { createUpgradeHandler, endRaw, isWebSocket, type SocketEndpoint } from "./upgrade.ts";

export interface HttpServerDeps {
  endpoints: readonly Endpoint[];
  /** WebSocket routes. */
  sockets?: readonly SocketEndpoint[];
  authenticator: Authenticator;
  sessions: DashboardSessions;
  config: () => Config;
  /** True when an agent with this id is configured and loaded. */
  agentExists: (agentId: string) => boolean;
  /** False for an agent of another gateway. */
  serves: (agentId: string) => boolean;
  /** Path of the public URL (`/gateway`); share links and webhooks are also served below it. */
  publicPath?: string | undefined;
  /** Throws while no new data may be stored. */
  takeSpace: () => void;
  /** Called after each reply with the declared path (`unknown` if there is none) and the duration in milliseconds. */
  onRequest?: (method: string, route: string, status: number, ms: number) => void;
  clock: Clock;
  log: Logger;
}

export interface HttpServer {
  /** Starts accepting; `port` 0 picks a free one. Rejects when the address cannot be bound. */
  listen(host: string, port: number): Promise<{ host: string; port: number }>;
  /** Stops accepting requests; resolves when all replies are finished, or after `graceMs`, which cuts off the rest. */
  close(graceMs: number): Promise<void>;
  /** Number of open connections. */
  connections: Connections["count"];
  /** Call this when the keys have changed: ends the requests whose key no longer allows them. */
  recheck(): void;
}

const HEADERS_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 60_000;

/** Serves the declared routes. */
export function createHttpServer(deps: HttpServerDeps): HttpServer {
  const { config, clock, log } = deps;
  let bound = "127.0.0.1";
  let closing = false;
  const hosts = createHostGuard(config, () => bound);
  const guard = createGuard({ ...deps, onLoopback: () => isLoopbackHost(bound) });
  const inFlight = createInFlight(({ principal, route, agentId }) => guard.judge(principal, route, agentId));
  const takeToken = createRateLimiter(config, clock);
  const dispatch = createDispatcher({
    router: createRouter(deps.endpoints, deps.publicPath),
    guard,
    inFlight,
    takeToken,
    takeSpace: deps.takeSpace,
    hosts,
    clock,
    log,
    onRequest: deps.onRequest,
  });

  const sockets = createSockets(clock);
  const upgrade = createUpgradeHandler({
    endpoints: deps.sockets ?? [],
    publicPath: deps.publicPath,
    hosts,
    guard,
    sockets,
    takeToken,
    log,
    closing: () => closing,
  });

  const onRequest = inTurn((req: IncomingMessage, res: ServerResponse) => {
    if (closing) res.shouldKeepAlive = false;
    void dispatch(req, res, randomUUID());
  }, log);
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: HEADERS_TIMEOUT_MS / 3,
      // Detects peers that vanished silently; a waiting reader would otherwise keep them for ever.
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
      // Bodies have their own deadlines, by kind.
      requestTimeout: 0,
      shouldUpgradeCallback: isWebSocket,
      // The host guard checks this and replies in the gateway's own format.
      requireHostHeader: false,
    },
    onRequest,
  );
  // `Expect: 100-continue` is granted only after the same checks: Node would request the body at once.
  server.on("checkContinue", onRequest);
  server.on("checkExpectation", onRequest);
  server.on("upgrade", upgrade);
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === "ECONNRESET") socket.destroy();
    else endRaw(socket, badMessage(error.code));
  });

  const connections = watchConnections(server, { config, clock, log });

  return {
    connections: connections.count,
    recheck() {
      inFlight.recheck();
      sockets.recheck();
    },
    listen(host, port) {
      bound = host;
      const { promise, resolve, reject } = Promise.withResolvers<{ host: string; port: number }>();
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        server.on("error", (error) => log.error({ err: error }, "http server error"));
        resolve({ host, port: (server.address() as AddressInfo).port });
      });
      return promise;
    },
    close(graceMs) {
      closing = true;
      if (!server.listening) return Promise.resolve();
      sockets.close();
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = clock.after(graceMs, () => server.closeAllConnections());
      server.close(() => {
        cancel();
        resolve();
      });
      return promise;
    },
  };
}

/** Errors of Node's parser, in the gateway's own words. */
function badMessage(code: string | undefined): GatewayError {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new GatewayError("INVALID_REQUEST", "The headers are too large.", { status: 431 });
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return new GatewayError("INVALID_REQUEST", "The request did not arrive in time.", { status: 408 });
  }
  return new GatewayError("INVALID_REQUEST", "This is not a valid HTTP request.");
}
