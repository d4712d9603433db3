import type { ServerResponse } from "node:http";
import { GatewayError } from "@agent-gateway/contract";
import type { Principal } from "../auth/index.ts";
import { sendError } from "./reply.ts";
import type { CompiledRoute } from "./router.ts";
import { endStream, isEventStream } from "./sse.ts";

/** An authenticated request, until it is answered. */
export interface Admitted {
  res: ServerResponse;
  requestId: string;
  route: CompiledRoute;
  agentId: string | undefined;
  principal: Principal;
}

export interface Entered {
  leave(): void;
  /** @throws GatewayError when the request's key no longer has the right that it started with. */
  confirm(): void;
}

export interface InFlight {
  /** Registers a request until it leaves. */
  enter(admitted: Admitted): Entered;
  /** Ends every request whose key has lost the right that it started with. The turns behind them continue. */
  recheck(): void;
  /**
   * Call this before a handler runs, and before a large reply is added.
   * @throws GatewayError `RATE_LIMITED` while too much is waiting for this key's clients to read it
   */
  takeRoom(keyId: string): void;
}

/** What may wait in memory for the clients of one key to read it. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/** `judge` returns what is wrong with a request under the current keys. */
export function createInFlight(judge: (admitted: Admitted) => GatewayError | undefined): InFlight {
  const open = new Set<Admitted>();
  return {
    enter(admitted) {
      open.add(admitted);
      return {
        leave: () => void open.delete(admitted),
        confirm() {
          const error = judge(admitted);
          if (error) throw error;
        },
      };
    },
    recheck() {
      for (const admitted of open) {
        const { res, requestId } = admitted;
        const error = judge(admitted);
        if (!error) continue;
        open.delete(admitted);
        const { form } = admitted.route.decl;
        if (res.headersSent && isEventStream(res)) endStream(res, requestId, error, form);
        else sendError(res, requestId, error, form);
      }
    },
    takeRoom(keyId) {
      let unread = 0;
      for (const { res, principal } of open) if (principal.id === keyId) unread += res.writableLength;
      if (unread <= MAX_UNREAD_BYTES) return;
      throw new GatewayError("RATE_LIMITED", "Too many replies to this key have not been read yet.", {
        headers: { "retry-after": "1" },
      });
    },
  };
}
