import { isFields, textOrNull } from "../agent-cli/protocol.ts";
import { safeSentence } from "../agent-cli/safe-sentence.ts";
import type { RpcAnswer } from "./json-rpc.ts";

/** The protocol's code for an agent that wants to be signed in. */
const AUTHENTICATION_REQUIRED = -32000;
/** Names of JSON-RPC codes that SDKs put in front of, or instead of, what happened. */
const CODE_NAME = /^(?:Internal error|Invalid params|Invalid request|Resource not found)(?::\s*|$)/i;

export const PROCESS_ENDED = "The agent process ended unexpectedly.";

/** One sentence for the user about a request that came to nothing. */
export function describeFailure(answer: Exclude<RpcAnswer, { type: "result" }>, waitedMs = 0): string {
  switch (answer.type) {
    case "closed":
      return PROCESS_ENDED;
    case "timeout":
      return `The agent did not answer within ${Math.round(waitedMs / 1000)} seconds.`;
    case "error": {
      if (answer.code === AUTHENTICATION_REQUIRED)
        return "The agent is not signed in: it needs a login or a key.";
      const said = answer.message.replace(CODE_NAME, "") || detailsOf(answer.data);
      return safeSentence(said, "The agent reported an error.");
    }
  }
}

function detailsOf(data: unknown): string {
  if (!isFields(data)) return textOrNull(data) ?? "";
  return textOrNull(data.details) ?? textOrNull(data.message) ?? "";
}
