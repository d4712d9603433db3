import type * as z from "zod";
import type { turnEvent } from "./schemas/events.ts";

export type TurnEvent = z.output<ReturnType<typeof turnEvent>>;

/** An event as it goes over the wire: numbered, and named after its turn. */
export type TurnFrame = TurnEvent & { seq: number; request_id: string };

/** Data of the frame that ends every stream. */
export const DONE = "[DONE]";

/** True for the events after which a turn says nothing more. */
export function isFinal(event: TurnEvent): boolean {
  return event.type === "result" || event.type === "error";
}
