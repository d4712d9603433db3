import * as z from "zod";
import { attachment } from "./schemas/messages.ts";

/** What a turn emits, in order. The log numbers them from 1 as `seq`. */
export const turnEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text_delta"), text: z.string() }),
  z.object({ type: z.literal("thinking"), text: z.string() }),
  z.object({ type: z.literal("tool_use"), name: z.string(), id: z.string() }),
  z.object({ type: z.literal("tool_result"), id: z.string(), is_error: z.boolean() }),
  z.object({ type: z.literal("attachment"), attachment }),
  z.object({ type: z.literal("timeout"), message: z.string(), resumable: z.literal(true) }),
  z.object({
    type: z.literal("result"),
    text: z.string(),
    session_id: z.string(),
    duration_ms: z.number().optional(),
    interrupted: z.literal(true).optional(),
    attachments: z.array(attachment).optional(),
  }),
  z.object({ type: z.literal("error"), message: z.string(), code: z.string().optional() }),
]);
export type TurnEvent = z.output<typeof turnEvent>;

/** An event as it goes over the wire: numbered, and named after its turn. */
export type TurnFrame = TurnEvent & { seq: number; request_id: string };

/** Data of the frame that ends every stream. */
export const DONE = "[DONE]";

/** True for the events after which a turn says nothing more. */
export function isFinal(event: TurnEvent): boolean {
  return event.type === "result" || event.type === "error";
}
