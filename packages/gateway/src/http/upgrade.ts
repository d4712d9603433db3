import { randomUUID } from "node:crypto";
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { GatewayError } from "@agent-gateway/contract";
import { errorBody, toGatewayError } from "./errors.ts";
import type { HostGuard } from "./hosts.ts";

/** True for requests that ask for a WebSocket; other upgrades (h2c) are offers that HTTP/1.1 may ignore. */
export function isWebSocket(req: IncomingMessage): boolean {
  return req.headers.upgrade?.toLowerCase() === "websocket";
}

/** The only owner of upgrades: every WebSocket is dispatched from here, after the checks that every request gets. */
export function createUpgradeHandler(hosts: HostGuard): (req: IncomingMessage, socket: Duplex) => void {
  return (req, socket) => {
    socket.on("error", () => socket.destroy());
    try {
      hosts.check(req, true);
      throw new GatewayError("NOT_FOUND");
    } catch (error) {
      endRaw(socket, toGatewayError(error));
    }
  };
}

/** Replies on a bare socket, where there is no `ServerResponse`, and closes it. */
export function endRaw(socket: Duplex, error: GatewayError): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = randomUUID();
  const body = JSON.stringify(errorBody(error, requestId));
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n` +
      `x-request-id: ${requestId}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
