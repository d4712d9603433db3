import type { Clock } from "../../lib/clock.ts";
import { type Fields, isFields, textOrNull } from "../agent-cli/index.ts";

/** How a request ended. A request never throws: all four outcomes are normal with a process at the other end. */
export type RpcAnswer =
  | { type: "result"; value: Fields }
  | { type: "error"; code: number; message: string; data: unknown }
  | { type: "timeout" }
  /** The other end is gone. */
  | { type: "closed" };

export interface RpcOptions {
  /** Writes one message and its newline. */
  write(line: string): void;
  /** Answers a request of the other end; undefined stands for an unknown method. */
  onRequest(method: string, params: Fields): Promise<Fields> | undefined;
  onNotification(method: string, params: Fields): void;
  clock: Clock;
}

/** One end of a JSON-RPC 2.0 connection of one message per line. */
export interface RpcPeer {
  /** Without `timeoutMs` it waits until the answer or the end. */
  request(method: string, params: Fields, options?: { timeoutMs?: number }): Promise<RpcAnswer>;
  notify(method: string, params: Fields): void;
  /** Handles one line from the other end; skips anything that is not a message, since programs also print other things. */
  receive(line: string): void;
  /** The other end is gone: every open request ends `closed`. */
  end(): void;
}

const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

export function createRpcPeer({ write, onRequest, onNotification, clock }: RpcOptions): RpcPeer {
  const open = new Map<number, (answer: RpcAnswer) => void>();
  let nextId = 0;
  let ended = false;

  const send = (message: Fields) => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

  const serve = (id: unknown, method: string, params: Fields) => {
    const result = onRequest(method, params);
    if (!result) return send({ id, error: { code: METHOD_NOT_FOUND, message: "Method not found." } });
    result.then(
      (value) => send({ id, result: value }),
      (error: Error) => send({ id, error: { code: INTERNAL_ERROR, message: error.message } }),
    );
  };

  return {
    request(method, params, { timeoutMs } = {}) {
      if (ended) return Promise.resolve({ type: "closed" });
      const id = nextId++;
      return new Promise((resolve) => {
        const settle = (answer: RpcAnswer) => {
          if (!open.delete(id)) return;
          cancel?.();
          resolve(answer);
        };
        const cancel =
          timeoutMs === undefined ? undefined : clock.after(timeoutMs, () => settle({ type: "timeout" }));
        open.set(id, settle);
        send({ id, method, params });
      });
    },
    notify(method, params) {
      if (!ended) send({ method, params });
    },
    receive(line) {
      const message = parse(line);
      if (!message) return;
      const params = isFields(message.params) ? message.params : {};
      if (typeof message.method === "string") {
        if (message.id === undefined || message.id === null) onNotification(message.method, params);
        else serve(message.id, message.method, params);
      } else if (typeof message.id === "number") {
        open.get(message.id)?.(answerOf(message));
      }
    },
    end() {
      ended = true;
      for (const settle of [...open.values()]) settle({ type: "closed" });
    },
  };
}

function parse(line: string): Fields | null {
  try {
    const value: unknown = JSON.parse(line);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

function answerOf(message: Fields): RpcAnswer {
  if (!isFields(message.error)) {
    return { type: "result", value: isFields(message.result) ? message.result : {} };
  }
  const { code, data } = message.error;
  return {
    type: "error",
    code: typeof code === "number" ? code : 0,
    message: textOrNull(message.error.message) ?? "",
    data,
  };
}
