import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "../lib/logger.ts";

/** Requests that a client may send ahead on one connection; each waits for the replies to those before it. */
const MAX_WAITING = 32;

/**
 * Runs the requests of a connection one after another. Node.js starts all that a client sends ahead, and then keeps all
 * their replies in memory for a client that does not read the first.
 */
export function inTurn(
  run: (req: IncomingMessage, res: ServerResponse) => void,
  log: Logger,
): (req: IncomingMessage, res: ServerResponse) => void {
  const queues = new WeakMap<Socket, { last: ServerResponse; waiting: number }>();
  return (req, res) => {
    const { socket } = req;
    const queue = queues.get(socket);
    if (!queue) {
      queues.set(socket, { last: res, waiting: 0 });
      return run(req, res);
    }
    const ahead = queue.last;
    queue.last = res;
    if (ahead.closed) return run(req, res);
    if (queue.waiting >= MAX_WAITING) {
      log.info({ address: socket.remoteAddress }, "connection closed: too many requests were sent ahead");
      return void socket.destroy();
    }
    queue.waiting++;
    ahead.once("close", () => {
      queue.waiting--;
      if (!socket.destroyed && !socket.writableEnded) run(req, res);
    });
  };
}
