import { type BodyOf, GatewayError, routes } from "@agent-gateway/contract";
import * as z from "zod";

/** What the send route takes. */
type Message = BodyOf<typeof routes.sendThroughDevice>;

/** A tool that the agent can call; errors it throws are passed to the agent. */
interface ReplyTool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  call(args: Record<string, unknown>): Promise<string>;
}

const whatIsWrong = (details: ReadonlyArray<{ path: string; message: string }>): string =>
  details.map(({ path, message }) => (path === "" ? message : `${path} ${message}`)).join("; ");

/** `devicechat_reply`: the agent writes to a chat of its linked device by itself, with the send route's rules. */
export function replyTool(send: (message: Message) => Promise<void>): ReplyTool {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(routes.sendThroughDevice.body(), { io: "input" });
  return {
    name: "devicechat_reply",
    description:
      "Sends a message over the linked device to a chat that its rules allow, at once and beside your reply. " +
      "Your reply to the current message is sent by itself; use this for another chat, an image or a quoted answer.",
    inputSchema,
    async call(args) {
      const message = routes.sendThroughDevice.body().safeParse(args);
      if (!message.success) {
        const issues = message.error.issues.map((issue) => ({
          path: issue.path.join("."),
          message: issue.message,
        }));
        throw new Error(`devicechat_reply: ${whatIsWrong(issues)}.`);
      }
      try {
        await send(message.data);
      } catch (error) {
        if (!(error instanceof GatewayError) || !error.details?.length) throw error;
        throw new Error(`${error.message} (${whatIsWrong(error.details)})`, { cause: error });
      }
      return "Sent.";
    },
  };
}
