import type * as z from "zod";
import type { turnEvent } from "./schemas/events.ts";

export type TurnEvent = z.output<ReturnType<typeof turnEvent>>;

/** An event as sent over the wire, with its number and turn. */
export type TurnFrame = TurnEvent & { seq: number; request_id: string };

/** Data of the frame that ends every stream. */
export const DONE = "[DONE]";

/** True for the events that end a turn. */
export function isFinal(event: TurnEvent): boolean {
  return event.type === "result" || event.type === "error";
}
