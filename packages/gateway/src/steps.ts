import { channel } from "node:diagnostics_channel";
import type { ChannelStep } from "./channels/index.ts";
import type { TurnStep } from "./sessions/index.ts";

/**
 * Each labelled step of each turn, and of each message of a channel, is published here, synchronously, as the label's text. Nobody listens in normal
 * operation; the crash tests end the process from a listener.
 */
export const TURN_STEPS = "agent-gateway:turn-step";

const steps = channel(TURN_STEPS);

export function publishStep(label: TurnStep | ChannelStep): void {
  if (steps.hasSubscribers) steps.publish(label);
}
