import { GatewayError } from "@agent-gateway/contract";
import type { WebSocket } from "ws";
import type { Principal } from "../auth/index.ts";
import type { Clock } from "../lib/clock.ts";

/** A live WebSocket and the right that it was opened with. */
export interface OpenSocket {
  socket: WebSocket;
  principal: Principal;
  /** What is wrong with that right now. */
  judge(): GatewayError | undefined;
}

export interface Sockets {
  /** @throws GatewayError `RATE_LIMITED` while the key has too many open */
  takeRoom(keyId: string): void;
  /** Follows a socket until it closes. */
  add(open: OpenSocket): void;
  /** Ends every socket whose key has lost its right. */
  recheck(): void;
  /** Ends all of them. */
  close(): void;
}

/** Close codes of the contract; 1001 is RFC 6455's. */
const RIGHT_GONE = 4401;
const GOING_AWAY = 1001;
/** Besides changed keys, which are noticed at once, a dashboard login may have ended. */
const JUDGE_MS = 5000;
/** A peer that does not answer the close is cut off. */
const CLOSE_MS = 1000;
const MAX_PER_KEY = 50;

/** Keeps the live WebSockets. */
export function createSockets(clock: Clock): Sockets {
  const live = new Set<OpenSocket>();
  let cancelJudging: (() => void) | undefined;

  const end = (open: OpenSocket, code: number, reason: string) => {
    const cancel = clock.after(CLOSE_MS, () => open.socket.terminate());
    open.socket.once("close", cancel);
    open.socket.close(code, reason);
  };
  const recheck = () => {
    for (const open of live) {
      const error = open.judge();
      if (!error) continue;
      live.delete(open);
      end(open, RIGHT_GONE, error.message);
    }
  };
  return {
    takeRoom(keyId) {
      let count = 0;
      for (const { principal } of live) if (principal.id === keyId) count++;
      if (count >= MAX_PER_KEY) {
        throw new GatewayError("RATE_LIMITED", "Too many WebSockets of this key are open.", {
          headers: { "retry-after": "5" },
        });
      }
    },
    add(open) {
      live.add(open);
      cancelJudging ??= clock.every(JUDGE_MS, recheck);
      open.socket.on("error", () => open.socket.terminate());
      open.socket.once("close", () => {
        live.delete(open);
        if (live.size > 0) return;
        cancelJudging?.();
        cancelJudging = undefined;
      });
    },
    recheck,
    close() {
      for (const open of live) end(open, GOING_AWAY, "The gateway is stopping.");
    },
  };
}
