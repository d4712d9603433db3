import type { Clock } from "../../lib/clock.ts";
import type { AgentLine, Fields } from "./protocol.ts";

/** A control request that is unanswered for this long counts as unsupported. */
export const CONTROL_TIMEOUT_MS = 2000;

/** `unsupported`: control requests are not answered; `refused`: this one was answered with an error. */
export type ControlAnswer = { type: "ok"; response: Fields } | { type: "refused" } | { type: "unsupported" };

/** The gateway's side of the control channel: requests to the agent program. */
export interface ControlChannel {
  request(request: Fields, timeoutMs?: number): Promise<ControlAnswer>;
  /** Handles a `control_response` line. */
  answered(line: Extract<AgentLine, { kind: "control_response" }>): void;
  /** The process is gone: every open request is unsupported now. */
  end(): void;
  /** Whether the program has answered yet; false after a request went unanswered, until one is answered after all. */
  readonly supported: boolean | undefined;
}

export function createControlChannel(send: (line: Fields) => void, clock: Clock): ControlChannel {
  const open = new Map<string, (answer: ControlAnswer) => void>();
  let count = 0;
  let supported: boolean | undefined;
  let ended = false;
  const giveUp = () => {
    for (const resolve of [...open.values()]) resolve({ type: "unsupported" });
  };

  return {
    get supported() {
      return supported;
    },
    request(request, timeoutMs = CONTROL_TIMEOUT_MS) {
      if (ended || supported === false) return Promise.resolve({ type: "unsupported" });
      const id = `gateway-${++count}`;
      return new Promise((resolve) => {
        const cancel = clock.after(timeoutMs, () => {
          supported ??= false;
          if (supported) open.get(id)?.({ type: "unsupported" });
          // What was asked later waits for nothing either.
          else giveUp();
        });
        open.set(id, (answer) => {
          cancel();
          open.delete(id);
          resolve(answer);
        });
        send({ type: "control_request", request_id: id, request });
      });
    },
    answered({ id, response, error }) {
      // A late answer proves support too: the program was only slow to start.
      supported = true;
      open.get(id)?.(error === null ? { type: "ok", response: response ?? {} } : { type: "refused" });
    },
    end() {
      ended = true;
      giveUp();
    },
  };
}
