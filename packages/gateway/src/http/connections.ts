import type { Server } from "node:http";
import type { Socket } from "node:net";
import { GatewayError } from "@agent-gateway/contract";
import type { Config } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import { addressGroup } from "../lib/ip.ts";
import type { Logger } from "../lib/logger.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { endRaw } from "./upgrade.ts";

/** How often readers are checked, as a fraction of the limit: a stalled one is cut off at most this much late. */
const LOOKS = 4;

interface Connection {
  group: string;
  /** What the peer had taken at the last check, and since when it has taken nothing more. */
  taken: string;
  since: number;
}

export interface Connections {
  /** Open connections, those whose peer has not taken everything that was written, and the bytes received. */
  count(): { open: number; waiting: number; received: number };
}

/** Bytes of the write in progress that the kernel has not taken yet; Node's own timeouts read this field too. */
const inFlight = (socket: Socket): number =>
  (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;

/** Changes whenever the peer has taken something. */
const takenOf = (socket: Socket): string =>
  `${socket.bytesWritten - socket.writableLength} ${inFlight(socket)}`;

/**
 * Limits a server's connections: their total, their number per address, and how long a peer may leave written data
 * unread. One periodic check of the sockets replaces a deadline on every reply, streams and errors included.
 */
export function watchConnections(
  server: Server,
  { config, clock, log }: { config: () => Config; clock: Clock; log: Logger },
): Connections {
  const connections = new Map<Socket, Connection>();
  const perGroup = new Map<string, number>();

  const refuse = (socket: Socket, why: string) => {
    log.debug({ address: socket.remoteAddress }, `connection refused: ${why}`);
    socket.on("error", () => socket.destroy());
    endRaw(
      socket,
      new GatewayError("CAPACITY", "Too many connections are open.", { headers: { "retry-after": "1" } }),
    );
  };

  // A refused connection must not reach the parser: a request sent along with it would run all the same.
  const serve = server.listeners("connection") as ((socket: Socket) => void)[];
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    const most = config().gateway.maxConnections;
    const group = addressGroup(socket.remoteAddress ?? "");
    const same = perGroup.get(group) ?? 0;
    if (connections.size >= most) {
      // Close idle connections to make room for whoever tries again.
      server.closeIdleConnections();
      return refuse(socket, "gateway.maxConnections is reached");
    }
    // A proxy on this machine carries everyone's connections.
    if (same >= most / 2 && !isLoopbackHost(socket.remoteAddress ?? "")) {
      return refuse(socket, "one address holds half of gateway.maxConnections");
    }
    perGroup.set(group, same + 1);
    connections.set(socket, { group, taken: "", since: clock.elapsed() });
    socket.once("close", () => {
      connections.delete(socket);
      const left = (perGroup.get(group) ?? 1) - 1;
      if (left > 0) perGroup.set(group, left);
      else perGroup.delete(group);
    });
    for (const listener of serve) listener.call(server, socket);
  });

  const look = () => {
    const limit = config().gateway.stalledReaderMs;
    const now = clock.elapsed();
    for (const [socket, connection] of connections) {
      const taken = takenOf(socket);
      if (socket.writableLength === 0 || taken !== connection.taken) {
        connection.taken = taken;
        connection.since = now;
      } else if (now - connection.since >= limit) {
        log.info({ address: socket.remoteAddress }, "connection closed: the client stopped reading");
        socket.destroy();
      }
    }
    cancel = clock.after(Math.max(10, limit / LOOKS), look);
  };
  let cancel = clock.after(config().gateway.stalledReaderMs / LOOKS, look);
  server.once("close", () => cancel());

  return {
    count() {
      const sockets = [...connections.keys()];
      return {
        open: sockets.length,
        waiting: sockets.filter((socket) => socket.writableLength > 0).length,
        received: sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0),
      };
    },
  };
}
