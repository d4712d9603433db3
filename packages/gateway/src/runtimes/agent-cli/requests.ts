import { listAllows } from "../mcp-names.ts";
import { type Fields, isFields, textOrNull } from "./protocol.ts";
import { GATEWAY_SERVER, isGatewayTool, type ToolServer } from "./tool-server.ts";

/** Answers what the agent program asks over the control channel. */
export interface RequestHandler {
  /** Resolves to the `control_response` line. */
  handle(id: string, request: Fields): Promise<Fields | null>;
  /** The program no longer waits for this answer. */
  cancel(id: string): void;
}

/**
 * @param allowTools the agent's configuration: all tools, none, or these; the gateway's own are always allowed.
 * @param acting awaited before a tool is allowed; rejects with a message for the agent.
 */
export function createRequestHandler(
  allowTools: boolean | readonly string[],
  toolServer: ToolServer,
  acting: () => Promise<void> = async () => {},
): RequestHandler {
  const pending = new Set<string>();
  const allowed = (name: string) =>
    isGatewayTool(name) || (typeof allowTools === "boolean" ? allowTools : listAllows(allowTools, name));

  const answer = async (request: Fields): Promise<Fields | null> => {
    if (request.subtype === "can_use_tool") {
      if (!allowed(textOrNull(request.tool_name) ?? ""))
        return { behavior: "deny", message: "This tool is not allowed for this agent." };
      try {
        await acting();
      } catch (error) {
        return { behavior: "deny", message: (error as Error).message };
      }
      return { behavior: "allow", updatedInput: isFields(request.input) ? request.input : {} };
    }
    if (
      request.subtype === "mcp_message" &&
      isFields(request.message) &&
      request.server_name === GATEWAY_SERVER
    ) {
      return { mcp_response: await toolServer(request.message) };
    }
    return null;
  };

  return {
    async handle(id, request) {
      pending.add(id);
      const response = await answer(request);
      if (!pending.delete(id)) return null;
      return {
        type: "control_response",
        response:
          response === null
            ? { subtype: "error", request_id: id, error: "Unsupported control request." }
            : { subtype: "success", request_id: id, response },
      };
    },
    cancel: (id) => pending.delete(id),
  };
}
