import { type Clock, sleep } from "../../lib/clock.ts";
import type { ChannelPlace, InboundMessage } from "../types.ts";
import type { IntakeDeps } from "./ports.ts";

const NAME_MS = 1_500;

/** The message with its sender's name, asking the provider if necessary. */
export async function withName(
  deps: { adapter: IntakeDeps["adapter"]; clock: Clock },
  place: ChannelPlace,
  message: InboundMessage,
): Promise<InboundMessage> {
  if (message.senderName !== undefined) return message;
  const asked = deps
    .adapter(place)
    ?.nameOf?.(message)
    .catch(() => undefined);
  const name = await Promise.race([asked, sleep(deps.clock, asked ? NAME_MS : 0)]);
  return name ? { ...message, senderName: name } : message;
}
