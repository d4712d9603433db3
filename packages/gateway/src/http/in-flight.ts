import type { ServerResponse } from "node:http";
import type { GatewayError } from "@agent-gateway/contract";
import type { Principal } from "../auth/index.ts";
import { sendError } from "./reply.ts";
import type { CompiledRoute } from "./router.ts";
import { endStream, isEventStream } from "./sse.ts";

/** A request whose key was found good, from then until it is answered. */
export interface Admitted {
  res: ServerResponse;
  requestId: string;
  route: CompiledRoute;
  agentId: string | undefined;
  principal: Principal;
}

export interface InFlight {
  /** Notes a request; the returned function forgets it. */
  enter(admitted: Admitted): () => void;
  /** Ends every request whose key no longer has the right that it began with. The turns behind them run on. */
  recheck(): void;
}

/** `judge` tells what is wrong with a request by the keys as they are now. */
export function createInFlight(judge: (admitted: Admitted) => GatewayError | undefined): InFlight {
  const open = new Set<Admitted>();
  return {
    enter(admitted) {
      open.add(admitted);
      return () => open.delete(admitted);
    },
    recheck() {
      for (const admitted of open) {
        const { res, requestId } = admitted;
        const error = judge(admitted);
        if (!error) continue;
        open.delete(admitted);
        if (res.headersSent && isEventStream(res)) endStream(res, requestId, error);
        else sendError(res, requestId, error);
      }
    },
  };
}
