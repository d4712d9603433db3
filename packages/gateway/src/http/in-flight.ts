import type { ServerResponse } from "node:http";
import type { GatewayError } from "@agent-gateway/contract";
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

export interface InFlight {
  /** Registers a request; the returned function removes it. */
  enter(admitted: Admitted): () => void;
  /** Ends every request whose key has lost the right that it started with. The turns behind them continue. */
  recheck(): void;
}

/** `judge` returns what is wrong with a request under the current keys. */
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
