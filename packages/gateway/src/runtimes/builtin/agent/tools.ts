import { randomUUID } from "node:crypto";
import { dynamicTool, type JSONSchema7, jsonSchema, type ToolSet } from "ai";
import { isRecord } from "../../../lib/is-record.ts";
import type { AgentInit, FromAgent, ToAgent } from "../protocol.ts";

/** A tool's answer that the model should see as a failure is thrown. */
class ToolFailure extends Error {}

/** The gateway's tools, as the model sees them: each call goes to the gateway and waits for its answer. */
export function createGatewayTools(send: (message: FromAgent) => void) {
  const waiting = new Map<string, PromiseWithResolvers<string>>();

  const ask = (message: (id: string) => FromAgent, signal: AbortSignal | undefined): Promise<string> => {
    const id = randomUUID();
    const answer = Promise.withResolvers<string>();
    waiting.set(id, answer);
    const cancel = () => answer.reject(signal?.reason);
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) cancel();
    send(message(id));
    return answer.promise.finally(() => {
      waiting.delete(id);
      signal?.removeEventListener("abort", cancel);
    });
  };
  const call = (name: string, args: unknown, signal: AbortSignal | undefined): Promise<string> =>
    ask((id) => ({ type: "tool_call", id, name, args: isRecord(args) ? args : {} }), signal);

  return {
    /** Resolves when a tool of the agent's own may act; rejects with a message for the model. */
    async acting(signal: AbortSignal | undefined): Promise<void> {
      await ask((id) => ({ type: "acting", id }), signal);
    },
    create(specs: AgentInit["tools"]): ToolSet {
      return Object.fromEntries(
        specs.map(({ name, description, inputSchema }) => [
          name,
          dynamicTool({
            description,
            inputSchema: jsonSchema(inputSchema as JSONSchema7),
            execute: (args, { abortSignal }) => call(name, args, abortSignal),
          }),
        ]),
      );
    },
    settle({ id, text, isError }: Extract<ToAgent, { type: "tool_result" }>): void {
      if (isError) waiting.get(id)?.reject(new ToolFailure(text));
      else waiting.get(id)?.resolve(text);
    },
  };
}
